-- Claim due actions span by span, without waiting for locked rows. Index: actions_due. The rows are
-- found again by their ctid, which cannot change while they are locked; a row that was moved after
-- this statement began is left to the next claim. A token is the claim's :tokens and a number.
-- A counter stops at the end of its range: an overflow would refuse all rows of a statement.
WITH clock AS MATERIALIZED (
    SELECT :now AS now
),
picked AS MATERIALIZED (
    SELECT x.place, row_number() OVER () AS number, s.turn, s.lane, s.since, s.until
    FROM (
        SELECT s.turn, s.lane, s.since, (SELECT now FROM clock) + s.ahead AS until
        FROM json_to_recordset(:rows) AS s (turn integer, lane text, since bigint, ahead bigint)
    ) AS s
    CROSS JOIN LATERAL (
        SELECT a.ctid AS place
        FROM duetime_actions AS a
        WHERE
            a.lane = s.lane AND a.due_at >= s.since AND a.due_at <= s.until
            AND a.token IS NULL
            AND coalesce(a.tenant, '') NOT IN ({{excluded_tenants}}) -- if :apart
            AND a.id IN ({{ids}}) -- if :ids
        ORDER BY a.due_at
        LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ) AS x
    LIMIT :limit
)
UPDATE duetime_actions AS a
SET
    token = CAST(:tokens || lpad(to_hex(p.number), 12, '0') AS uuid),
    worker = :worker,
    lease_until = (SELECT now FROM clock) + :lease,
    attempt = least(a.attempt, 2147483646) + 1,
    started_at = greatest((SELECT now FROM clock), a.due_at)
FROM picked AS p
WHERE
    a.ctid = p.place
    AND a.lane = p.lane AND a.due_at >= p.since AND a.due_at <= p.until
    AND a.token IS NULL
RETURNING
    (SELECT now FROM clock), p.turn, a.id, a.token, a.kind, a.version, a.payload, a.lane,
    a.tenant, a.correlation_id, a.due_at, a.attempt, a.base_attempt,
    a.losses, a.created_by, a.job, a.tick, a.triggered_by, a.expires_at, a.trace
