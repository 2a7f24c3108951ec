-- Delete a grant. Index: primary key of grants.
DELETE FROM duetime_grants
WHERE id = :id
