-- The notifications of minutes from one on, locked until commit. Index: notifications_minute.
SELECT n.record, CAST(n.subscription_id AS text), n.minute, n.part
FROM duetime_notifications AS n
WHERE n.minute >= :minute AND n.part < 2
ORDER BY n.id
{{for_update}}
