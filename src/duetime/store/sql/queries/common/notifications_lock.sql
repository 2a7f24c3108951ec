-- A notification, locked until commit. Index: primary key of notifications.
SELECT n.record
FROM duetime_notifications AS n
WHERE n.id = :id
{{for_update}}
