-- How many rows were searched, and those in scope, as `flows.timeline` reads them.
SELECT
    c.searched,
    CAST(f.id AS text), CAST(f.kind AS text), CAST(f.queue AS text), CAST(f.tenant AS text),
    CAST(f.job AS text), CAST(f.state AS text), CAST(f.outcome AS text), CAST(f.due_at AS bigint),
    CAST(f.started_at AS bigint), CAST(f.finished_at AS bigint)
FROM (SELECT coalesce(max(n.searched), 0) AS searched FROM numbers AS n) AS c
LEFT JOIN (
    SELECT m.*
    FROM found AS m
    WHERE
        m.id IS NOT NULL
        AND m.tenant = :tenant -- if :tenant
        AND m.tenant IS NULL -- if :untenanted
    ORDER BY
        m.finished_at DESC, m.id DESC -- unless :rows
        m.due_at, m.id -- if :rows
    LIMIT :limit
) AS f ON true
