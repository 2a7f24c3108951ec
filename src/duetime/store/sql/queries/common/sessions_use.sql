-- A session with the grants of its roles, a row for each; without any, their columns are empty.
-- Indexes: primary key of sessions; none of grants, which are few.
SELECT :now, {{session_columns}}, {{grant_columns}}
FROM duetime_sessions AS x
LEFT JOIN duetime_grants AS g ON g.role IN ({{roles_of_row}})
WHERE x.id = :id
