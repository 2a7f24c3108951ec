-- The newest audit entries of a subject, newest first. Index: audit_subject.
SELECT
    CAST(u.id AS text), u.at, u."by", u.tenant, u.verb, u.subject, u.subject_id, u.before, u.after
FROM duetime_audit AS u
WHERE u.subject_id = :subject_id
ORDER BY u.at DESC, u.id DESC
LIMIT :limit
