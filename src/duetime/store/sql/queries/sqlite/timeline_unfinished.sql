-- The unfinished actions of some lanes that are due between two instants, in scope of a tenant
-- among those searched; and the most that were searched of a lane.
-- Indexes: actions_due, rowid of actions.
WITH found AS MATERIALIZED (
    SELECT
        a.id, a.kind, a.queue, a.tenant, a.job,
        CASE WHEN a.token IS NULL THEN 'scheduled' ELSE 'running' END AS state,
        NULL AS outcome, a.due_at,
        CASE WHEN a.token IS NOT NULL THEN a.started_at END AS started_at,
        NULL AS finished_at,
        r.lane
    FROM {{since_rows}}
    CROSS JOIN json_each(
        (
            SELECT json_group_array(p.place)
            FROM (
                SELECT b.rowid AS place
                FROM duetime_actions AS b
                WHERE b.lane = r.lane AND b.due_at >= r.since AND b.due_at < :until
                ORDER BY b.due_at
                LIMIT :examined
            ) AS p
        )
    ) AS e
    CROSS JOIN duetime_actions AS a ON a.rowid = e.value
),
numbers AS (
    SELECT count(*) AS searched FROM found AS m GROUP BY m.lane
)
{{spans_in_scope}}
