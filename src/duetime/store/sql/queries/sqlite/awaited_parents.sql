-- The ids among these for which children wait. Index: actions_after.
SELECT DISTINCT c.after FROM duetime_actions AS c WHERE c.due_at IS NULL AND c.after IN ({{ids}})
