-- Take due actions span by span, waiting for no row. Indexes: actions_due, primary key.
WITH clock AS MATERIALIZED (
    SELECT :now AS now
),
picked AS MATERIALIZED (
    SELECT x.id, s.turn, s.lane, s.since, s.until
    FROM (
        SELECT s.turn, s.lane, s.since, (SELECT now FROM clock) + s.ahead AS until
        FROM json_to_recordset(:rows) AS s (turn integer, lane text, since bigint, ahead bigint)
    ) AS s
    CROSS JOIN LATERAL (
        SELECT a.id
        FROM duetime_actions AS a
        WHERE
            a.lane = s.lane AND a.due_at >= s.since AND a.due_at <= s.until
            AND a.token IS NULL
        ORDER BY a.due_at
        LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ) AS x
    LIMIT :limit
)
UPDATE duetime_actions AS a
SET
    token = gen_random_uuid(),
    worker = :worker,
    lease_until = (SELECT now FROM clock) + :lease,
    attempt = a.attempt + 1,
    started_at = greatest((SELECT now FROM clock), a.due_at)
FROM picked AS p
WHERE
    a.id = p.id
    AND a.lane = p.lane AND a.due_at >= p.since AND a.due_at <= p.until
    AND a.token IS NULL
RETURNING
    (SELECT now FROM clock), p.turn, a.id, a.token, a.kind, a.version, a.payload, a.lane,
    a.queue, a.priority, a.tenant, a.correlation_id, a.due_at, a.attempt, a.base_attempt,
    a.losses, a.created_by, a.job, a.tick, a.triggered_by
