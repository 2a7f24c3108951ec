-- The ids among these for which children wait. Index: actions_after, named since actions_children,
-- which find needs, also has children that wait no longer.
SELECT DISTINCT c.after
FROM duetime_actions AS c INDEXED BY duetime_actions_after
WHERE c.due_at IS NULL AND c.after IN ({{ids}})
