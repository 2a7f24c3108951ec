-- Drop what is long, and may therefore be unreadable, of a running action, if the token is the
-- stored one. Index: primary key of actions.
UPDATE duetime_actions
SET payload = 'null', progress = NULL, error = NULL, trace = NULL
WHERE id = :id AND token = :token
RETURNING CAST(id AS text)
