-- Delete the oldest notifications. Index: notifications_minute.
DELETE FROM duetime_notifications
WHERE
    id IN (
        SELECT n.id FROM duetime_notifications AS n
        WHERE n.minute < :until
        ORDER BY n.minute
        LIMIT :limit
    )
RETURNING 1
