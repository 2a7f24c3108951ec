-- An action, finished or not, in one snapshot. Indexes: primary keys.
SELECT {{action_columns}}
FROM duetime_actions AS a
WHERE a.id = :id
UNION ALL
SELECT {{history_columns}}
FROM duetime_history AS h
WHERE h.id = :id
