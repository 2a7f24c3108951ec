-- Store new actions, sent for the first time, so that nobody can have their ids: to make sure of
-- it for each would take a third more time. Tells how many were stored, which ones if not all of
-- :limit, and when. What is a query by itself is done once: to read the clock, and to ask whether
-- anything between the lowest and the highest id has finished before, in order, so by the index.
-- Only then each is asked for. Indexes: primary keys.
WITH stored AS (
    INSERT INTO duetime_actions AS a (
        id, kind, version, payload, queue, priority, tenant, correlation_id, key, lane,
        due_at, after, after_on, after_at, after_delay, created_at, created_by
    )
    SELECT
        n.id, n.kind, n.version, n.payload, n.queue, n.priority, n.tenant, n.correlation_id,
        n.key, n.lane, coalesce(n.due_at, (SELECT :now) + n.delay), n.after, n.after_on,
        n.after_at, n.after_delay, (SELECT :now), n.created_by
    FROM {{new_rows}}
    WHERE
        (
            SELECT h.id FROM duetime_history AS h
            WHERE h.id BETWEEN :lowest AND :highest ORDER BY h.id LIMIT 1
        ) IS NULL
        OR (SELECT h.id FROM duetime_history AS h WHERE h.id = n.id) IS NULL
    ORDER BY n.position
    RETURNING a.id
)
SELECT
    count(*),
    CASE WHEN count(*) < :limit THEN CAST(array_agg(s.id) AS text) END,
    CAST((SELECT :now) AS bigint)
FROM stored AS s
