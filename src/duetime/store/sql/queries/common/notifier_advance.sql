-- Note that subscriptions have changed. Index: primary key of notifier.
INSERT INTO duetime_notifier AS n (id, version)
VALUES (1, 1)
ON CONFLICT (id) DO UPDATE SET version = n.version + 1
