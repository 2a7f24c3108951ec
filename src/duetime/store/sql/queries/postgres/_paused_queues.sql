-- The paused queues as JSON. No index: there are few queues.
CAST(
    (
        SELECT json_agg(json_build_array(q.name, q.paused_until))
        FROM duetime_queues AS q
        WHERE q.paused_at IS NOT NULL AND (q.paused_until IS NULL OR q.paused_until > :now)
    ) AS text
)
