-- Those of some actions that are still scheduled, held until we commit.
-- Index: primary key of actions.
SELECT {{action_columns}}
FROM duetime_actions AS a
WHERE a.token IS NULL AND a.id IN ({{ids}})
ORDER BY a.id
{{for_update}}
