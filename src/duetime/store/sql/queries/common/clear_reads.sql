-- Delete all reads.
DELETE FROM duetime_reads
