-- Children whose parent is no longer unfinished, and how it finished, locked until commit; skips
-- rows that other transactions have locked. Indexes: actions_after, primary keys.
SELECT {{action_columns}}, :now, CAST(p.state AS text), CAST(p.finished_at AS bigint),
    CASE WHEN p.due_at IS NULL THEN CAST(p.after AS text) END, CAST(a.after AS text)
FROM duetime_actions AS a
LEFT JOIN duetime_history AS p ON p.id = a.after
WHERE
    a.due_at IS NULL AND a.after IN ({{ids}})
    AND NOT EXISTS (SELECT 1 FROM duetime_actions AS u WHERE u.id = a.after)
ORDER BY a.id
LIMIT :limit
{{skip_locked}}
