-- The grant of a permission to a role for a tenant, locked until commit. Index: grants_role.
SELECT {{grant_columns}}
FROM duetime_grants AS g
WHERE
    g.role = :role AND g.permission = :permission
    AND coalesce(g.tenant, '') = coalesce(:tenant, '')
{{for_update}}
