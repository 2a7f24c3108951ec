-- The paused queues, and the next due time of some lanes, each from a given time on. Index:
-- actions_due. Limit and condition are hidden from the planner as in `_lane_heads.sql`.
SELECT
    :now,
    {{paused_queues}},
    r.lane,
    (
        SELECT a.due_at
        FROM duetime_actions AS a
        WHERE a.lane = r.lane AND a.due_at >= r.since AND CASE WHEN a.token IS NULL THEN true END
        ORDER BY a.due_at
        LIMIT (SELECT 1)
    )
FROM {{since_rows}}
