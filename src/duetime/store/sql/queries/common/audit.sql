-- The newest audit entries that match, newest first. Indexes: audit_at, audit_subject.
SELECT
    CAST(u.id AS text), u.at, u."by", u.tenant, u.verb, u.subject, u.subject_id, u.before, u.after,
    u.note, u.source, u.address
FROM duetime_audit AS u
WHERE
    u.at IS NOT NULL
    AND u.subject_id = :subject_id -- if :subject_id
    AND u."by" = :by -- if :by
    AND u.verb = :verb -- if :verb
    AND u.tenant = :tenant -- if :tenant
    AND CASE WHEN u.tenant IS NULL THEN true END -- if :untenanted
    AND u.at >= :audited_since -- if :audited_since
    AND u.at < :audited_before -- if :audited_before
    AND (u.at, u.id) < (:follows_at, :follows_id) -- if :follows_at
ORDER BY u.at DESC, u.id DESC
LIMIT :limit
