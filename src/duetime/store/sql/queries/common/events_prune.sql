-- Delete events that nobody has gathered. Index: primary key of events.
DELETE FROM duetime_events
WHERE id IN (
    SELECT e.id FROM duetime_events AS e
    WHERE e.at < :until
    ORDER BY e.id
    LIMIT :limit
)
RETURNING 1
