CAST(x.id AS text), x.name, x.roles, x.tenant, x.created_at, x.created_by, x.expires_at,
x.last_used_at, x.secret_hash
