-- Delete the oldest finished actions with their runs and tracebacks, tracebacks that older code
-- left behind when it pruned, workers not seen for long, bulks whose last step was long ago, and
-- old ticks.
-- Indexes: history_state, tracebacks_kept_at, ticks_tick.
WITH clock AS MATERIALIZED (
    SELECT :now AS now
),
old AS MATERIALIZED (
    SELECT x.id
    FROM (
        VALUES ('succeeded', :keep), ('cancelled', :keep), ('failed', :keep_failed)
    ) AS k (state, keep)
    CROSS JOIN LATERAL (
        SELECT h.id, h.finished_at
        FROM duetime_history AS h
        WHERE h.state = k.state AND h.finished_at < (SELECT now FROM clock) - k.keep
        ORDER BY h.finished_at
        LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ) AS x
    ORDER BY x.finished_at
    LIMIT :limit
),
gone AS (
    DELETE FROM duetime_history AS h
    USING old
    WHERE h.id = old.id
    RETURNING h.id
),
gone_runs AS (
    DELETE FROM duetime_runs AS r
    USING old
    WHERE r.action_id = old.id
),
gone_tracebacks AS (
    DELETE FROM duetime_tracebacks AS t
    USING old
    WHERE t.action_id = old.id
),
lost_tracebacks AS (
    DELETE FROM duetime_tracebacks AS t
    USING (
        SELECT o.action_id
        FROM duetime_tracebacks AS o
        WHERE
            o.kept_at < (SELECT now FROM clock) - greatest(:keep, :keep_failed)
            AND NOT EXISTS (SELECT 1 FROM duetime_actions AS a WHERE a.id = o.action_id)
            AND NOT EXISTS (SELECT 1 FROM duetime_history AS h WHERE h.id = o.action_id)
        ORDER BY o.kept_at
        LIMIT :limit
    ) AS lost
    WHERE t.action_id = lost.action_id
),
gone_workers AS (
    DELETE FROM duetime_workers AS w
    WHERE w.seen_at < (SELECT now FROM clock) - :keep_worker
),
gone_bulks AS (
    DELETE FROM duetime_bulks AS b
    WHERE b.taken_at < (SELECT now FROM clock) - :keep_bulk
),
gone_ticks AS (
    DELETE FROM duetime_ticks AS t
    USING (
        SELECT o.job, o.tick
        FROM duetime_ticks AS o
        WHERE o.tick < (SELECT now FROM clock) - greatest(:keep, :keep_failed)
        ORDER BY o.tick
        LIMIT :limit
    ) AS old_ticks
    WHERE t.job = old_ticks.job AND t.tick = old_ticks.tick
)
SELECT count(*) FROM gone
