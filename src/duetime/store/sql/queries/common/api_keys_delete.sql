-- Delete an API key. Index: primary key of api_keys.
DELETE FROM duetime_api_keys
WHERE id = :id
