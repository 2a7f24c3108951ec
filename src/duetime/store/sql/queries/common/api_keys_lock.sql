-- An API key, locked until commit. Index: primary key of api_keys.
SELECT {{api_key_columns}}
FROM duetime_api_keys AS x
WHERE
    x.id = :id
    AND x.tenant = :tenant -- if :tenant
    AND x.tenant IS NULL -- if :untenanted
{{for_update}}
