-- API keys. Index: none; there are few keys.
SELECT {{api_key_columns}}
FROM duetime_api_keys AS x
WHERE
    x.id IS NOT NULL
    AND x.tenant = :tenant -- if :tenant
    AND x.tenant IS NULL -- if :untenanted
ORDER BY x.id
