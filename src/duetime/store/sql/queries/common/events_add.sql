-- Insert events, if there is any subscription. Index: primary key of subscriptions.
INSERT INTO duetime_events (id, at, topic, tenant, subject, data, ended)
SELECT n.id, :now, n.topic, n.tenant, n.subject, n.data, n.ended
FROM {{event_rows}}
WHERE EXISTS (SELECT 1 FROM duetime_subscriptions)
RETURNING id
