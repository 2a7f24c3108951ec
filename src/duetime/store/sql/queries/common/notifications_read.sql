-- Mark notifications in the app as read by a reader.
-- Index: notifications_in_app, or the primary key of notifications; primary key of reads.
INSERT INTO duetime_reads (reader, notification_id)
SELECT CAST(:reader AS text), n.id
FROM duetime_notifications AS n
WHERE
    {{notifications_seen}}
    AND n.id IN ({{ids}}) -- if :ids
ON CONFLICT (reader, notification_id) DO NOTHING
RETURNING 1
