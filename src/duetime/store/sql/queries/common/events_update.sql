-- Replace what an event says. Index: primary key of events.
UPDATE duetime_events
SET data = :data
WHERE id = :id
