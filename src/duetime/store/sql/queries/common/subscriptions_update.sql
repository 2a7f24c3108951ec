-- Replace the record of a subscription. Index: primary key of subscriptions.
UPDATE duetime_subscriptions
SET record = :record
WHERE id = :id
