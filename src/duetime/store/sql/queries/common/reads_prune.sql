-- Delete read marks of notifications that are gone. Index: primary key of notifications.
DELETE FROM duetime_reads
WHERE NOT EXISTS (
    SELECT 1 FROM duetime_notifications AS n WHERE n.id = duetime_reads.notification_id
)
