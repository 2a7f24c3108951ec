-- The pauses in force. No index: there are few queues.
SELECT q.name, q.paused_at, q.paused_by, q.pause_note, q.paused_until
FROM duetime_queues AS q
WHERE
    q.paused_at IS NOT NULL AND (q.paused_until IS NULL OR q.paused_until > :now)
    AND q.name = :queue -- if :queue
