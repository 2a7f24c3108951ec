-- An API key with the grants of its roles, a row for each; without any, their columns are empty.
-- Indexes: primary key of api_keys; none of grants, which are few.
SELECT :now, {{api_key_columns}}, {{grant_columns}}
FROM duetime_api_keys AS x
LEFT JOIN duetime_grants AS g ON g.role IN ({{roles_of_row}})
WHERE x.id = :id
