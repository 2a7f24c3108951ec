-- Grants, of some roles or of all. Those that do not allow come in any case: the role of one may be
-- damaged. Index: none, since there are few grants.
SELECT {{grant_columns}}
FROM duetime_grants AS g
WHERE
    g.id IS NOT NULL
    AND (g.role IN ({{names}}) OR g.allowed <> 1) -- if :names
    AND g.tenant = :tenant -- if :tenant
    AND g.tenant IS NULL -- if :untenanted
