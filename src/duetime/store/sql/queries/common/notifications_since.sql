-- The notifications of minutes from one on, locked until commit. Index: notifications_minute.
SELECT n.record
FROM duetime_notifications AS n
WHERE n.minute >= :minute AND n.part < 2
ORDER BY n.id
{{for_update}}
