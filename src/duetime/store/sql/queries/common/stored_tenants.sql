-- The ids among these that are stored for one of these tenants, and their tenants. Indexes: primary
-- keys.
SELECT CAST(a.id AS text), CAST(a.tenant AS text)
FROM duetime_actions AS a
WHERE a.id IN ({{ids}}) AND coalesce(a.tenant, '') IN ({{names}})
UNION ALL
SELECT CAST(h.id AS text), CAST(h.tenant AS text)
FROM duetime_history AS h
WHERE h.id IN ({{ids}}) AND coalesce(h.tenant, '') IN ({{names}})
