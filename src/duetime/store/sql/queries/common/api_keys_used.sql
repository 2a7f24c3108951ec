-- Record that an API key is used, unless that was done lately. Index: primary key of api_keys.
UPDATE duetime_api_keys
SET last_used_at = :now
WHERE id = :id AND (last_used_at IS NULL OR last_used_at <= :now - :every)
