-- The actions among these ids that are still scheduled, locked until commit.
-- Index: primary key of actions.
SELECT {{action_columns}}
FROM duetime_actions AS a
WHERE a.token IS NULL AND a.id IN ({{ids}})
ORDER BY a.id
{{for_update}}
