-- Record that a session is in use. Index: primary key of sessions.
UPDATE duetime_sessions
SET seen_at = :now
WHERE id = :id AND expires_at > :now AND seen_at > :now - :idle
