-- Delete the oldest audit entries. Index: audit_at.
DELETE FROM duetime_audit
WHERE id IN (
    SELECT a.id
    FROM duetime_audit AS a
    WHERE a.at < :now - :keep
    ORDER BY a.at, a.id
    LIMIT :limit
    {{skip_locked}}
)
RETURNING id
