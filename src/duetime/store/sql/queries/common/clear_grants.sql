-- Delete every grant.
DELETE FROM duetime_grants
