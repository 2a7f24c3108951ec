-- Whoever comes after a migration that waits for a lock waits, too: give up soon, and try again.
SELECT set_config('lock_timeout', '50', TRUE)
