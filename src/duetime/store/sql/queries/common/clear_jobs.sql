-- Delete every job.
DELETE FROM duetime_jobs
