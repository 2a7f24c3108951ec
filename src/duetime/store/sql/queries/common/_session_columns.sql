CAST(x.id AS text), x."user", x.roles, x.tenant, CAST(x.api_key AS text), x.local, x.created_at,
x.expires_at, x.seen_at, x.secret_hash
