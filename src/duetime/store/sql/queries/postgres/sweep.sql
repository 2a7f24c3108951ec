-- The lanes with their next due time, expired leases at the front of each lane, and whether there
-- are due actions behind it; the paused queues; parents that are no longer unfinished, among those
-- of a window of waiting children; the next tick of the app; whether a younger worker declares jobs
-- of it; and whether any live worker is older.
-- Also updates this worker's row, and tells whether events wait and subscriptions have changed.
-- Indexes: actions_due, actions_after, jobs_due, primary keys of notifier and events. Limits are
-- hidden from the planner as in `_lane_heads.sql`.
WITH RECURSIVE clock AS MATERIALIZED (
    SELECT :now AS now
),
{{lane_heads}},
expired AS (
    SELECT x.*
    FROM lanes AS l
    CROSS JOIN LATERAL (
        SELECT f.id, f.token, f.queue, f.priority, f.tenant, f.losses, f.job, f.triggered_by,
            f.kind
        FROM (
            SELECT a.id, a.token, a.queue, a.priority, a.tenant, a.losses, a.job, a.triggered_by,
                a.kind, a.lease_until
            FROM duetime_actions AS a
            WHERE a.lane = l.lane AND a.due_at <= (SELECT now FROM clock) + :ahead
            ORDER BY a.due_at
            LIMIT (SELECT :front)
        ) AS f
        WHERE f.token IS NOT NULL AND f.lease_until <= (SELECT now FROM clock)
        LIMIT :limit
    ) AS x
    LIMIT :limit
),
waiting AS MATERIALIZED (
    SELECT w.after
    FROM duetime_actions AS w
    WHERE w.due_at IS NULL AND w.after > :beyond
    ORDER BY w.after
    LIMIT (SELECT :window)
),
present AS (
    INSERT INTO duetime_workers AS w (
        id, app, host, pid, kinds, jobs, queues, concurrency, started_at, seen_at, health,
        code_version, slots
    )
    SELECT
        :worker, :app, :host, :pid, :kinds, :jobs, :queues, :concurrency, clock.now, clock.now,
        CAST(:health AS text), :code_version, CAST(:slots AS text)
    FROM clock
    ON CONFLICT (id) DO UPDATE
        SET
            kinds = excluded.kinds, -- if :introducing
            jobs = excluded.jobs, -- if :introducing
            queues = excluded.queues,
            concurrency = excluded.concurrency,
            seen_at = excluded.seen_at,
            health = excluded.health,
            slots = excluded.slots
    -- xmax is set if the row existed, so that this statement has updated it.
    RETURNING w.id, w.started_at, w.xmax <> 0 AS known
)
SELECT
    clock.now,
    CAST((SELECT json_agg(json_build_array(h.lane, h.next_due)) FROM heads AS h) AS text),
    CAST(
        (
            SELECT
                json_agg(
                    json_build_array(x.id, x.token, x.queue, x.priority, x.tenant, x.losses, x.job,
                        x.triggered_by, x.kind)
                )
            FROM expired AS x
        ) AS text
    ),
    EXISTS (
        SELECT 1
        FROM lanes AS l
        CROSS JOIN LATERAL (
            SELECT a.due_at
            FROM duetime_actions AS a
            WHERE a.lane = l.lane AND a.due_at <= (SELECT now FROM clock) + :ahead
            ORDER BY a.due_at
            OFFSET (SELECT :front)
            LIMIT (SELECT 1)
        ) AS x
    ),
    CAST(
        (
            SELECT json_agg(DISTINCT w.after)
            FROM waiting AS w
            WHERE NOT EXISTS (SELECT 1 FROM duetime_actions AS u WHERE u.id = w.after)
        ) AS text
    ),
    (SELECT CAST(w.after AS text) FROM waiting AS w ORDER BY w.after OFFSET :window - 1),
    (
        SELECT min(j.next_due_at)
        FROM duetime_jobs AS j
        WHERE j.app = :app AND j.next_due_at IS NOT NULL
    ),
    (SELECT p.known FROM present AS p),
    EXISTS (
        SELECT 1
        FROM duetime_workers AS w, present AS p
        WHERE
            w.app = :app AND w.seen_at > (SELECT now FROM clock) - :alive
            AND w.jobs <> '[]'
            AND (w.started_at > p.started_at OR (w.started_at = p.started_at AND w.id > p.id))
    ),
    EXISTS (
        SELECT 1
        FROM duetime_workers AS w, present AS p
        WHERE
            w.seen_at > (SELECT now FROM clock) - :alive
            AND (w.started_at < p.started_at OR (w.started_at = p.started_at AND w.id < p.id))
    ),
    {{paused_queues}},
    coalesce((SELECT n.version FROM duetime_notifier AS n WHERE n.id = 1), 0),
    EXISTS (SELECT 1 FROM duetime_events)
    , pg_notify(:channel, :ping) -- if :ping
FROM clock
