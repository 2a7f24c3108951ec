-- The row of a queue, locked until commit. Index: primary key of queues.
SELECT a.name, a.paused_at, a.paused_by, a.pause_note, a.paused_until
FROM duetime_queues AS a
WHERE a.name = :queue
{{for_update}}
