-- Delete every API key.
DELETE FROM duetime_api_keys
