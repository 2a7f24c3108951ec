-- Store new actions whose id and key are free. Indexes: primary keys, actions_key.
INSERT INTO duetime_actions (
    id, kind, version, payload, queue, priority, tenant, correlation_id, key, lane,
    due_at, after, after_on, after_at, after_delay, created_at, created_by
)
SELECT
    n.id, n.kind, n.version, n.payload, n.queue, n.priority, n.tenant, n.correlation_id,
    n.key, n.lane, coalesce(n.due_at, :now + n.delay), n.after, n.after_on, n.after_at,
    n.after_delay, :now, n.created_by
FROM {{new_rows}}
WHERE (SELECT h.id FROM duetime_history AS h WHERE h.id = n.id) IS NULL -- if :first
ORDER BY n.position
ON CONFLICT DO NOTHING
RETURNING CAST(id AS text), CAST(created_at AS bigint)
