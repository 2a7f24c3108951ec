-- Insert an API key.
INSERT INTO duetime_api_keys (
    id, name, roles, tenant, secret_hash, created_at, created_by, expires_at
)
VALUES (:id, :name, :roles, :tenant, :secret_hash, :now, :by, :expires_at)
