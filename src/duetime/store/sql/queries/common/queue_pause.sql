-- Set the pause of a queue, or end it. Index: primary key of queues.
UPDATE duetime_queues
SET
    paused_at = :paused_at,
    paused_by = CAST(:paused_by AS text),
    pause_note = CAST(:pause_note AS text),
    paused_until = :paused_until
WHERE name = :queue
