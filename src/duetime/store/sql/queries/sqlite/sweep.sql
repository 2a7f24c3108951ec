-- Lanes with their next due time, and expired leases. Indexes: actions_due, actions_lease.
WITH RECURSIVE {{heads}},
expired AS (
    SELECT a.id, a.token, a.queue, a.priority, a.tenant, a.losses
    FROM duetime_actions AS a
    WHERE
        a.token IS NOT NULL AND a.lease_until <= :now
        AND a.due_at <= :now + :ahead
    ORDER BY a.lease_until
    LIMIT :limit
)
SELECT
    :now,
    (SELECT json_group_array(json_array(h.lane, h.next_due)) FROM heads AS h),
    (
        SELECT
            json_group_array(
                json_array(x.id, x.token, x.queue, x.priority, x.tenant, x.losses)
            )
        FROM expired AS x
    )
