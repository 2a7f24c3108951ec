-- Delete a one-time link that has not expired. Index: primary key of links.
DELETE FROM duetime_links
WHERE id = :id AND secret_hash = :secret_hash AND expires_at > :now
RETURNING CAST(id AS text), created_at, expires_at, secret_hash
