-- Insert a one-time link.
INSERT INTO duetime_links (id, secret_hash, created_at, expires_at)
VALUES (:id, :secret_hash, :now, :expires_at)
