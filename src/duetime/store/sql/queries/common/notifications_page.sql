-- Notifications that may be about rows of a scope, by id. Index: primary key of notifications.
SELECT CAST(n.id AS text), n.record
FROM duetime_notifications AS n
WHERE
    n.id > :above
    AND (n.everywhere = 1 OR n.tenant = :tenant) -- if :tenant
    AND (n.everywhere = 1 OR n.tenant IS NULL) -- if :untenanted
ORDER BY n.id
LIMIT :limit
{{for_update}}
