-- How far a run is, if it is still ours. Index: primary key of actions.
UPDATE duetime_actions
SET progress = :progress
WHERE id = :id AND token = :token
RETURNING CAST(id AS text)
