-- The unfinished actions of some lanes that are due between two instants, in scope of a tenant
-- among those searched; and the most that were searched of a lane. Index: actions_due. The limit
-- is hidden from the planner as in `_lane_heads.sql`.
WITH found AS MATERIALIZED (
    SELECT u.*, r.lane
    FROM {{since_rows}}
    CROSS JOIN LATERAL (
        SELECT
            a.id, a.kind, a.queue, a.tenant, a.job,
            CASE WHEN a.token IS NULL THEN 'scheduled' ELSE 'running' END AS state,
            NULL AS outcome, a.due_at,
            CASE WHEN a.token IS NOT NULL THEN a.started_at END AS started_at,
            CAST(NULL AS bigint) AS finished_at
        FROM duetime_actions AS a
        WHERE a.lane = r.lane AND a.due_at >= r.since AND a.due_at < :until
        ORDER BY a.due_at
        LIMIT (SELECT :examined)
    ) AS u
),
numbers AS (
    SELECT count(*) AS searched FROM found AS m GROUP BY m.lane
)
{{spans_in_scope}}
