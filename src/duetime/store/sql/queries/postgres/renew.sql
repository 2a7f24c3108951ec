-- Extend leases whose token is still stored, without waiting for locked rows. Index: primary key of
-- actions.
WITH clock AS MATERIALIZED (
    SELECT :now AS now
),
mine AS MATERIALIZED (
    SELECT m.held_id, m.held_token
    FROM json_to_recordset(:leases) AS m (held_id uuid, held_token uuid)
),
free AS MATERIALIZED (
    SELECT m.held_id, m.held_token
    FROM mine AS m
    INNER JOIN duetime_actions AS a ON a.id = m.held_id AND a.token = m.held_token
    FOR UPDATE OF a SKIP LOCKED
),
kept AS (
    UPDATE duetime_actions AS a
    SET lease_until = (SELECT now FROM clock) + :lease
    FROM free AS f
    WHERE a.id = f.held_id AND a.token = f.held_token
    RETURNING a.id, a.stop_by
),
found AS (
    SELECT CAST(kept.id AS text) AS id, 1 AS ours, kept.stop_by
    FROM kept
    UNION ALL
    SELECT CAST(m.held_id AS text), 0, NULL
    FROM mine AS m
    LEFT JOIN duetime_actions AS a ON a.id = m.held_id AND a.token = m.held_token
    WHERE a.id IS NULL
)
SELECT clock.now, found.id, found.ours, found.stop_by
FROM clock
LEFT JOIN found ON TRUE
