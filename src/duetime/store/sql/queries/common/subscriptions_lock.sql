-- A subscription, locked until commit. Index: primary key of subscriptions.
SELECT s.record
FROM duetime_subscriptions AS s
WHERE
    s.id = :id
    AND s.everywhere = 0 AND s.tenant = :tenant -- if :tenant
    AND s.everywhere = 0 AND s.tenant IS NULL -- if :untenanted
{{for_update}}
