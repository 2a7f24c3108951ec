-- The subscriptions of a scope, oldest first. Index: primary key of subscriptions.
SELECT s.record
FROM duetime_subscriptions AS s
WHERE
    s.id IS NOT NULL
    AND s.id = :id -- if :id
    AND s.everywhere = 0 AND s.tenant = :tenant -- if :tenant
    AND s.everywhere = 0 AND s.tenant IS NULL -- if :untenanted
ORDER BY s.id
