-- An unfinished action, locked until commit. Index: primary key of actions.
SELECT {{action_columns}}, :now, CAST(a.lane AS text), CAST(a.stop_by AS text)
FROM duetime_actions AS a
WHERE
    a.id = :id
    AND a.tenant = :tenant -- if :tenant
    AND a.tenant IS NULL -- if :untenanted
{{for_update}}
