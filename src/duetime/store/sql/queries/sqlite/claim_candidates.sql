-- Free actions of a span that are due, and their rowids; long payloads are left to `long_payloads`.
-- Index: actions_due. All rows are one value: to fetch row by row, a thread must take Python's
-- interpreter lock for each.
SELECT
    :now,
    json_group_array(
        json_array(
            place, id, kind, version, CASE WHEN length(payload) < 10000 THEN payload END, lane,
            tenant, correlation_id, due_at, min(attempt, 2147483646) + 1, base_attempt,
            losses, created_by, job, tick, triggered_by, expires_at, trace
        )
    )
FROM (
    SELECT a.rowid AS place, a.*
    FROM duetime_actions AS a
    WHERE
        a.lane = :lane AND a.due_at >= :since AND a.due_at <= :now + :ahead
        AND a.token IS NULL
        AND coalesce(a.tenant, '') NOT IN ({{excluded_tenants}}) -- if :apart
        AND a.id IN ({{ids}}) -- if :ids
    ORDER BY a.due_at
    LIMIT :limit
)
