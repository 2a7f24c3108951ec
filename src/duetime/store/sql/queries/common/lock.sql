-- An unfinished action, held until we commit. Index: primary key of actions.
SELECT {{action_columns}}, :now, a.lane, a.stop_by
FROM duetime_actions AS a
WHERE a.id = :id
{{for_update}}
