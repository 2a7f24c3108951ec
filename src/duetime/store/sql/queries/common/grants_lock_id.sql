-- A grant, locked until commit. Index: primary key of grants.
SELECT {{grant_columns}}
FROM duetime_grants AS g
WHERE
    g.id = :id
    AND g.tenant = :tenant -- if :tenant
    AND g.tenant IS NULL -- if :untenanted
{{for_update}}
