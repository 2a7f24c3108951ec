-- A session with the grants of its roles, a row for each; without any, their columns are empty.
-- Every grant that does not allow, too: the role of one may be damaged.
-- Indexes: primary key of sessions; none of grants, which are few.
SELECT :now, {{session_columns}}, {{grant_columns}}
FROM duetime_sessions AS x
LEFT JOIN duetime_grants AS g ON g.role IN ({{roles_of_row}}) OR g.allowed <> 1
WHERE x.id = :id
