-- The newest actions that finished in one state between two instants, in scope of a tenant among
-- those searched. Index: history_state.
WITH found AS MATERIALIZED (
    SELECT
        h.id, h.kind, h.queue, h.tenant, h.job, h.state, h.outcome, h.due_at, h.started_at,
        h.finished_at
    FROM duetime_history AS h
    WHERE h.state = :state AND h.finished_at >= :since AND h.finished_at < :until
    ORDER BY h.finished_at DESC
    LIMIT :examined
),
numbers AS (
    SELECT count(*) AS searched FROM found
)
{{spans_in_scope}}
