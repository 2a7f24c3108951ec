-- Delete actions that were inserted although they have finished before. Indexes: both primary keys.
DELETE FROM duetime_actions
WHERE
    token IS NULL AND id IN ({{ids}})
    AND id IN (SELECT h.id FROM duetime_history AS h WHERE h.id IN ({{ids}}))
RETURNING CAST(id AS text)
