-- The paused queues as JSON; an end that is no number is none. A name that is a blob makes the
-- statement fail, so that it is repaired: the queue stays paused. No index: there are few queues.
(
    SELECT
        json_group_array(
            json_array(q.name, CASE typeof(q.paused_until) WHEN 'integer' THEN q.paused_until END)
        )
    FROM duetime_queues AS q
    WHERE q.paused_at IS NOT NULL AND (q.paused_until IS NULL OR q.paused_until > :now)
)
