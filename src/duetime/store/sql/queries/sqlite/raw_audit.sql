-- A window of all rows in the order of rowids: of each its rowid, and the columns that this version
-- knows, in the order of `known_columns.py`.
SELECT
    u.rowid, u.id, u.at, u."by", u.tenant, u.verb, u.subject, u.subject_id, u.before, u.after,
    u.note, u.source, u.address
FROM duetime_audit AS u
WHERE u.rowid > :rowid
ORDER BY u.rowid
LIMIT :window
