-- How many confirmations a scope has asked for since an instant. Index: notifications_minute.
SELECT count(*)
FROM duetime_notifications AS n
WHERE
    n.minute >= :since AND n.part = :part
    AND n.tenant = :tenant -- if :tenant
    AND n.tenant IS NULL -- if :untenanted
