-- Delete sessions that have ended. Index: none; there are few.
DELETE FROM duetime_sessions
WHERE expires_at <= :now OR seen_at <= :now - :idle
