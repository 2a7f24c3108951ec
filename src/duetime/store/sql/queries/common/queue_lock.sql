-- The row of a queue, locked until commit. Index: primary key of queues.
SELECT CAST(a.name AS text), CAST(a.paused_at AS bigint), CAST(a.paused_by AS text),
    CAST(a.pause_note AS text), CAST(a.paused_until AS bigint)
FROM duetime_queues AS a
WHERE a.name = :queue
{{for_update}}
