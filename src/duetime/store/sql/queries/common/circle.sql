-- Whether one action waits for another, directly or through others. Index: primary key.
WITH RECURSIVE line (parent) AS (
    SELECT :after
    UNION
    SELECT CASE WHEN a.due_at IS NULL THEN a.after END
    FROM line
    INNER JOIN duetime_actions AS a ON a.id = line.parent
)
SELECT 1 FROM line
WHERE parent = :id
