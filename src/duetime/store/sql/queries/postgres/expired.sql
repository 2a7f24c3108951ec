-- Expired leases wherever they are. Reads the whole table: no index may know of leases.
SELECT a.id, a.token, a.queue, a.priority, a.tenant, a.losses, a.job, a.triggered_by
FROM duetime_actions AS a
WHERE a.token IS NOT NULL AND a.lease_until <= :now AND a.due_at <= :now + :ahead
LIMIT :limit
