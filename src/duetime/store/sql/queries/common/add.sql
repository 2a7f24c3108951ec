-- Insert new actions whose id and key are free. Indexes: primary keys, actions_key.
-- PostgreSQL evaluates a plain subquery once: for the clock, and for whether any id between the
-- lowest and the highest has finished, which it reads in index order. Only if one has, each id is
-- checked.
INSERT INTO duetime_actions (
    id, kind, version, payload, queue, priority, tenant, correlation_id, key, lane,
    trace, -- if :traced
    due_at, expires_at, after, after_on, after_at, after_delay, created_at, created_by
)
SELECT
    n.id, n.kind, n.version, n.payload, n.queue, n.priority, n.tenant, n.correlation_id,
    n.key, n.lane,
    n.trace, -- if :traced
    coalesce(n.due_at, (SELECT :now) + n.delay), n.expires_at, n.after, n.after_on,
    n.after_at, n.after_delay, (SELECT :now), n.created_by
FROM {{new_rows}}
WHERE -- if :lowest
    ( -- if :lowest
        SELECT h.id FROM duetime_history AS h -- if :lowest
        WHERE h.id BETWEEN :lowest AND :highest ORDER BY h.id LIMIT 1 -- if :lowest
    ) IS NULL -- if :lowest
    OR (SELECT h.id FROM duetime_history AS h WHERE h.id = n.id) IS NULL -- if :lowest
ORDER BY n.position
ON CONFLICT DO NOTHING
RETURNING CAST(id AS text), CAST(created_at AS bigint)
