-- An API key with the grants of its roles, a row for each; without any, their columns are empty.
-- Every grant that does not allow, too: the role of one may be damaged.
-- Indexes: primary key of api_keys; none of grants, which are few.
SELECT :now, {{api_key_columns}}, {{grant_columns}}
FROM duetime_api_keys AS x
LEFT JOIN duetime_grants AS g ON g.role IN ({{roles_of_row}}) OR g.allowed <> 1
WHERE x.id = :id
