-- Delete a subscription. Index: primary key of subscriptions.
DELETE FROM duetime_subscriptions
WHERE id = :id
