-- Insert skipped ticks into history. Index: primary key of history.
INSERT INTO duetime_history (
    id, kind, version, payload, queue, priority, tenant, due_at, job, tick, triggered_by, state,
    outcome, error, attempt, base_attempt, losses, created_at, created_by, finished_at
)
SELECT
    n.id, n.kind, n.version, n.payload, n.queue, n.priority, n.tenant, n.due_at, n.job_name,
    n.job_tick, n.triggered_by, 'cancelled', 'skipped', n.skipped, 0, 0, 0, :now, n.created_by,
    :now
FROM {{occurrence_rows}}
