-- Store new actions without key and parent, sent for the first time, so that nobody can have their
-- ids: to make sure of it for each would take a third more time. Tells which of them were left
-- alone because they have finished before, and when the others were stored. It asks that of the
-- history, in the same snapshot, and not of each insert, which would take a tenth of the time. What
-- is a query by itself is done once: to read the clock, and to ask whether anything between the
-- lowest and the highest id has finished before, in order, so by the index. Only then each is asked
-- for. The rows are not those of `_new_rows.sql`: each of its columns takes time, though nothing
-- stands in it. Indexes: primary keys.
WITH neighbour AS MATERIALIZED (
    SELECT h.id FROM duetime_history AS h
    WHERE h.id BETWEEN :lowest AND :highest ORDER BY h.id LIMIT 1
),
stored AS (
    INSERT INTO duetime_actions (
        id, kind, version, payload, queue, priority, tenant, correlation_id, lane, due_at,
        created_at, created_by
    )
    SELECT
        n.id, coalesce(n.kind, :all_kind), coalesce(n.version, :all_version), n.payload,
        coalesce(n.queue, :all_queue), coalesce(n.priority, :all_priority),
        coalesce(n.tenant, :all_tenant), n.correlation_id, coalesce(n.lane, :all_lane),
        coalesce(n.due_at, :all_due_at, (SELECT :now) + coalesce(n.delay, :all_delay)),
        (SELECT :now),
        coalesce(n.created_by, :all_created_by)
    FROM unnest(
        :rows_id, :rows_kind, :rows_version, :rows_payload, :rows_queue, :rows_priority,
        :rows_tenant, :rows_correlation_id, :rows_lane, :rows_due_at, :rows_delay, :rows_created_by
    ) AS n (
        id, kind, version, payload, queue, priority, tenant, correlation_id, lane, due_at, delay,
        created_by
    )
    WHERE
        (SELECT id FROM neighbour) IS NULL
        OR (SELECT h.id FROM duetime_history AS h WHERE h.id = n.id) IS NULL
)
SELECT
    CASE
        WHEN (SELECT id FROM neighbour) IS NOT NULL
            THEN (
                SELECT CAST(array_agg(n.id) AS text)
                FROM unnest(:rows_id) AS n (id)
                WHERE (SELECT h.id FROM duetime_history AS h WHERE h.id = n.id) IS NOT NULL
            )
    END,
    CAST((SELECT :now) AS bigint)
