-- Change whether a grant allows. An empty tenant, which is none, becomes none.
-- Index: primary key of grants.
UPDATE duetime_grants
SET tenant = :tenant, allowed = :allowed, created_at = :now, created_by = :by
WHERE id = :id
