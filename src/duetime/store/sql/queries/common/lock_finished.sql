-- A finished action, locked until commit. Index: primary key of history.
SELECT {{history_columns}}, :now, NULL, NULL
FROM duetime_history AS h
WHERE
    h.id = :id
    AND h.tenant = :tenant -- if :tenant
    AND h.tenant IS NULL -- if :untenanted
{{for_update}}
