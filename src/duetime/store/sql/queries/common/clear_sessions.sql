-- Delete every session.
DELETE FROM duetime_sessions
