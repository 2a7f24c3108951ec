-- Ask the worker of a running action to stop. Index: primary key of actions.
UPDATE duetime_actions
SET stop_by = :by
WHERE id = :id AND token IS NOT NULL
