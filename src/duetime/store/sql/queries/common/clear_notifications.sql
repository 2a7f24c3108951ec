-- Delete all notifications.
DELETE FROM duetime_notifications
