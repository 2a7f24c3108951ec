-- Grants, of some roles or of all. Index: grants_role, or none; there are few grants.
SELECT {{grant_columns}}
FROM duetime_grants AS g
WHERE
    g.id IS NOT NULL
    AND g.role IN ({{names}}) -- if :names
    AND g.tenant = :tenant -- if :tenant
    AND g.tenant IS NULL -- if :untenanted
