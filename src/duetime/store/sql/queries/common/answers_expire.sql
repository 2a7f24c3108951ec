-- Delete some of the answers older than a day. Index: answers_age. Chosen once, as in
-- `prune_audit.sql`.
WITH old AS MATERIALIZED (
    SELECT a.id
    FROM duetime_answers AS a
    WHERE a.created_at < :until
    ORDER BY a.created_at
    LIMIT :limit
    {{skip_locked}}
)
DELETE FROM duetime_answers
WHERE id IN (SELECT o.id FROM old AS o)
