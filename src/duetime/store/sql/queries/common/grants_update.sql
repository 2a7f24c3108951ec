-- Change whether a grant allows. Index: primary key of grants.
UPDATE duetime_grants
SET allowed = :allowed, created_at = :now, created_by = :by
WHERE id = :id
