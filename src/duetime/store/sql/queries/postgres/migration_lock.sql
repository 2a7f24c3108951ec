-- One migrates, the others wait for it.
SELECT pg_advisory_xact_lock(:lock)
