-- Insert audit entries that an earlier sending may have inserted. Index: primary key of audit.
INSERT INTO duetime_audit (
    id, at, "by", tenant, verb, subject, subject_id, before, after, note, source, address
)
SELECT
    n.id, :now, :by, n.tenant, :verb, :subject, n.subject_id, n.before, n.after,
    CAST(:note AS text), :source, CAST(:address AS text)
FROM {{audit_rows}}
-- For SQLite: without a condition, ON would belong to a join.
WHERE n.id IS NOT NULL
ON CONFLICT (id) DO NOTHING
