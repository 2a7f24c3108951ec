-- Delete the oldest events and return them, to be gathered. Index: primary key of events.
DELETE FROM duetime_events
WHERE id IN (SELECT e.id FROM duetime_events AS e ORDER BY e.id LIMIT :limit)
RETURNING CAST(id AS text), at, topic, tenant, subject, data, ended
