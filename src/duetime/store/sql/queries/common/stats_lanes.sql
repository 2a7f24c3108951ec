-- Unfinished actions counted by lane. No index: reads the table once, which holds no others.
SELECT
    a.lane,
    count(*) FILTER (WHERE a.token IS NULL AND a.due_at IS NOT NULL),
    count(*) FILTER (WHERE a.token IS NULL AND a.due_at <= :now),
    min(a.due_at) FILTER (WHERE a.token IS NULL AND a.due_at <= :now),
    count(*) FILTER (WHERE a.token IS NOT NULL),
    count(*) FILTER (WHERE a.token IS NOT NULL AND a.lease_until <= :now),
    count(*) FILTER (WHERE a.token IS NULL AND a.due_at IS NULL),
    count(*) FILTER (
        WHERE CASE
            WHEN a.token IS NOT NULL
                THEN a.lane IS NULL OR a.due_at IS NULL OR a.lease_until IS NULL
            WHEN a.due_at IS NULL THEN a.after IS NULL
            ELSE a.lane IS NULL
        END
    )
FROM duetime_actions AS a
WHERE
    a.id IS NOT NULL
    AND a.tenant = :tenant -- if :tenant
    AND a.tenant IS NULL -- if :untenanted
GROUP BY a.lane
