-- Store a run's progress, if its token is the stored one. Index: primary key of actions.
UPDATE duetime_actions
SET progress = :progress
WHERE id = :id AND token = :token
RETURNING CAST(id AS text)
