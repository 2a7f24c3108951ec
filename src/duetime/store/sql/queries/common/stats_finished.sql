-- The number of newest finished actions in each state. Index: history_state.
SELECT
    :now,
    s.state,
    (
        SELECT count(*)
        FROM (
            SELECT h.tenant
            FROM duetime_history AS h
            WHERE h.state = s.state
            ORDER BY h.finished_at DESC
            LIMIT :limit
        ) AS n
        WHERE
            TRUE
            AND n.tenant = :tenant -- if :tenant
            AND n.tenant IS NULL -- if :untenanted
    )
FROM (
    SELECT 'succeeded' AS state
    UNION ALL SELECT 'failed'
    UNION ALL SELECT 'cancelled'
) AS s
