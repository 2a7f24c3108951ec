-- Delete all subscriptions.
DELETE FROM duetime_subscriptions
