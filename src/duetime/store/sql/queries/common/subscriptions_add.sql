-- Insert a subscription, unless there is one of this id. Index: primary key of subscriptions.
INSERT INTO duetime_subscriptions (id, tenant, everywhere, record)
VALUES (:id, :tenant, :everywhere, :record)
ON CONFLICT (id) DO NOTHING
RETURNING id
