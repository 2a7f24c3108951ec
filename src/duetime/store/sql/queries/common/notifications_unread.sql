-- How many notifications in the app a reader has not read, up to a limit.
-- Index: notifications_in_app; primary key of reads.
SELECT count(*)
FROM (
    SELECT 1
    FROM duetime_notifications AS n
    WHERE
        {{notifications_seen}}
        AND NOT EXISTS (
            SELECT 1 FROM duetime_reads AS r WHERE r.reader = :reader AND r.notification_id = n.id
        )
    LIMIT :limit
) AS u
