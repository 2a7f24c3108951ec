-- The lanes with their next due time, expired leases, the parents that are no longer unfinished,
-- among those of a window of waiting children, and the paused queues.
-- Indexes: actions_due, actions_lease, actions_after.
WITH RECURSIVE {{lane_heads}},
expired AS (
    SELECT a.id, a.token, a.queue, a.priority, a.tenant, a.losses, a.job, a.triggered_by,
        a.kind
    FROM duetime_actions AS a
    WHERE
        a.token IS NOT NULL AND a.lease_until <= :now
        AND a.due_at <= :now + :ahead
    ORDER BY a.lease_until
    LIMIT :limit
),
waiting AS MATERIALIZED (
    SELECT w.after
    FROM duetime_actions AS w
    WHERE w.due_at IS NULL AND w.after > :beyond
    ORDER BY w.after
    LIMIT :window
)
SELECT
    :now,
    (SELECT json_group_array(json_array(h.lane, h.next_due)) FROM heads AS h),
    (
        SELECT
            json_group_array(
                json_array(x.id, x.token, x.queue, x.priority, x.tenant, x.losses, x.job,
                        x.triggered_by, x.kind)
            )
        FROM expired AS x
    ),
    0,
    (
        SELECT json_group_array(DISTINCT w.after)
        FROM waiting AS w
        WHERE NOT EXISTS (SELECT 1 FROM duetime_actions AS u WHERE u.id = w.after)
    ),
    (SELECT w.after FROM waiting AS w ORDER BY w.after LIMIT 1 OFFSET :window - 1),
    (
        SELECT min(j.next_due_at)
        FROM duetime_jobs AS j
        WHERE j.app = :app AND j.next_due_at IS NOT NULL
    ),
    :known,
    EXISTS (
        SELECT 1
        FROM duetime_workers AS w
        WHERE
            w.app = :app AND w.seen_at > :now - :alive
            AND w.jobs <> '[]'
            AND (w.started_at > :started_at OR (w.started_at = :started_at AND w.id > :worker))
    ),
    EXISTS (
        SELECT 1
        FROM duetime_workers AS w
        WHERE
            w.seen_at > :now - :alive
            AND (w.started_at < :started_at OR (w.started_at = :started_at AND w.id < :worker))
    ),
    {{paused_queues}},
    coalesce((SELECT n.version FROM duetime_notifier AS n WHERE n.id = 1), 0),
    EXISTS (SELECT 1 FROM duetime_events),
    -- Whether a lease or a due time is no number: such a text or blob is later than any number.
    EXISTS (SELECT 1 FROM duetime_actions AS d WHERE d.token IS NOT NULL AND d.lease_until >= '')
    OR EXISTS (
        SELECT 1 FROM lanes AS l INNER JOIN duetime_actions AS d ON d.lane = l.lane
        WHERE d.due_at >= ''
    )
