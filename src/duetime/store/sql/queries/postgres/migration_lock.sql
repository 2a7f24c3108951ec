-- Serialise migrations: other processes wait for the first.
SELECT pg_advisory_xact_lock(:lock)
