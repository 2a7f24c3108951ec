-- Drop what is long, and may therefore be unreadable. Index: primary key of actions.
UPDATE duetime_actions
SET payload = 'null', progress = NULL, error = NULL, trace = NULL
WHERE token IS NULL AND due_at IS NOT NULL AND id = :id
