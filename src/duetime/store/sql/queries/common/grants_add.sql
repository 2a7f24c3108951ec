-- Insert a grant, unless there is one of that permission to the role for the tenant.
-- Index: grants_role.
INSERT INTO duetime_grants (id, role, permission, tenant, allowed, created_at, created_by)
VALUES (:id, :role, :permission, :tenant, :allowed, :now, :by)
ON CONFLICT (role, permission, coalesce(tenant, '')) DO NOTHING
RETURNING id
