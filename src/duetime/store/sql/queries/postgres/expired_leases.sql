-- Expired leases of all actions. Reads the whole table: leases have no index, so that claims and
-- renewals stay HOT updates.
SELECT a.id, a.token, a.queue, a.priority, a.tenant, a.losses, a.job, a.triggered_by, a.kind
FROM duetime_actions AS a
WHERE a.token IS NOT NULL AND a.lease_until <= :now AND a.due_at <= :now + :ahead
LIMIT :limit
