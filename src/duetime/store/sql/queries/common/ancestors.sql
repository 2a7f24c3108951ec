-- An action, and the actions that it waits for, directly or through others. Index: primary key.
WITH RECURSIVE line (parent) AS (
    SELECT :after
    UNION
    SELECT a.after
    FROM line
    INNER JOIN duetime_actions AS a ON a.id = line.parent
    WHERE a.due_at IS NULL
)
SELECT CAST(parent AS text) FROM line
WHERE parent IS NOT NULL
