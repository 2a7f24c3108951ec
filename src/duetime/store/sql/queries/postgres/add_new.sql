-- Store new actions without key and parent, sent for the first time, so that nobody can have their
-- ids: to make sure of it for each would take a third more time. Tells which of them were left
-- alone because they have finished before, and when the others were stored. It asks that of the
-- history, in the same snapshot, and not of each insert, which would take a tenth of the time. What
-- is a query by itself is done once: to read the clock, and to ask whether anything between the
-- lowest and the highest id has finished before, in order, so by the index. Only then each is asked
-- for. Indexes: primary keys.
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
        :each_id, :each_kind, :each_version, :each_payload, :each_queue, :each_priority,
        :each_tenant, :each_correlation_id, :each_lane,
        coalesce(:each_due_at, (SELECT :now) + :each_delay), (SELECT :now), :each_created_by
    FROM unnest(:arrays) AS n (:columns)
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
