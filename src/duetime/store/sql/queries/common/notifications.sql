-- Notifications in the app, newest first, each with whether its reader has read it.
-- Index: notifications_in_app, or the primary key of notifications; primary key of reads.
SELECT
    n.record,
    EXISTS (
        SELECT 1 FROM duetime_reads AS r WHERE r.reader = :reader AND r.notification_id = n.id
    )
FROM duetime_notifications AS n
WHERE
    {{notifications_seen}}
    AND n.id < :below -- if :below
    AND NOT EXISTS ( -- if :unread
        SELECT 1 FROM duetime_reads AS r -- if :unread
        WHERE r.reader = :reader AND r.notification_id = n.id -- if :unread
    ) -- if :unread
ORDER BY n.id DESC
LIMIT :limit
