-- Delete the oldest audit entries. Index: audit_at. They are chosen once, in a part of their own: a
-- subquery that locks may run again for each row, and would then delete more than the limit.
WITH old AS MATERIALIZED (
    SELECT a.id
    FROM duetime_audit AS a
    WHERE a.at < :now - :keep
    ORDER BY a.at, a.id
    LIMIT :limit
    {{skip_locked}}
)
DELETE FROM duetime_audit
WHERE id IN (SELECT o.id FROM old AS o)
RETURNING id
