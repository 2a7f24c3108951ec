-- The pauses in force. No index: there are few queues.
SELECT CAST(q.name AS text), CAST(q.paused_at AS bigint), CAST(q.paused_by AS text),
    CAST(q.pause_note AS text), CAST(q.paused_until AS bigint)
FROM duetime_queues AS q
WHERE
    q.paused_at IS NOT NULL AND (q.paused_until IS NULL OR q.paused_until > :now)
    AND q.name = :queue -- if :queue
