-- Insert occurrences of jobs. Index: primary key of actions.
INSERT INTO duetime_actions (
    id, kind, version, payload, queue, priority, tenant, lane, due_at, after, after_on, after_at,
    trace, -- if :traced
    after_delay, job, tick, triggered_by, created_at, created_by
)
SELECT
    n.id, n.kind, n.version, n.payload, n.queue, n.priority, n.tenant, n.lane,
    coalesce(n.due_at, :now + n.delay), n.after, n.after_on, n.after_at,
    n.trace, -- if :traced
    n.after_delay,
    n.job_name, n.job_tick, n.triggered_by, :now, n.created_by
FROM {{occurrence_rows}}
