-- Insert a session.
INSERT INTO duetime_sessions (
    id, "user", roles, tenant, api_key, local, secret_hash, created_at, expires_at, seen_at
)
VALUES (
    :id, :user, :roles, :tenant, :api_key, :local, :secret_hash, :now, :expires_at, :now
)
