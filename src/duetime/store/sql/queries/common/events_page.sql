-- Events in the order of their ids, of a scope. Index: primary key of events.
SELECT CAST(e.id AS text), e.at, e.topic, e.tenant, e.subject, e.data, e.ended
FROM duetime_events AS e
WHERE
    e.id > :above
    AND e.tenant = :tenant -- if :tenant
    AND e.tenant IS NULL -- if :untenanted
ORDER BY e.id
LIMIT :limit
