-- Delete all events.
DELETE FROM duetime_events
