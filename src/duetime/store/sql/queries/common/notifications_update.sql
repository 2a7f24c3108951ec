-- Replace the record of a notification. Index: primary key of notifications.
UPDATE duetime_notifications
SET record = :record
WHERE id = :id
