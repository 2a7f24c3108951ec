-- A finished action, locked until commit. Index: primary key of history.
SELECT {{history_columns}}, :now, NULL, NULL
FROM duetime_history AS h
WHERE h.id = :id
{{for_update}}
