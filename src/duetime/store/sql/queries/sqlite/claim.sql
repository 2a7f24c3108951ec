-- Take due actions of one span. Index: actions_due.
UPDATE duetime_actions
SET
    token = lower(
        hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-' || hex(randomblob(2))
        || '-' || hex(randomblob(2)) || '-' || hex(randomblob(6))
    ),
    worker = :worker,
    lease_until = :now + :lease,
    attempt = attempt + 1,
    started_at = max(:now, due_at)
WHERE id IN (
    SELECT a.id
    FROM duetime_actions AS a
    WHERE
        a.lane = :lane AND a.due_at >= :since AND a.due_at <= :now + :ahead
        AND a.token IS NULL
        AND coalesce(a.tenant, '') NOT IN ({{apart}}) -- if :apart
    ORDER BY a.due_at
    LIMIT :limit
)
RETURNING
    :now, 0, id, token, kind, version, payload, lane,
    tenant, correlation_id, due_at, attempt, base_attempt, losses,
    created_by, job, tick, triggered_by
