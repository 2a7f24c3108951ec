CAST(g.id AS text), g.role, g.permission, g.tenant, g.allowed, g.created_at, g.created_by
