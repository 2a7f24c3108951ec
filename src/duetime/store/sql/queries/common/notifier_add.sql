-- Insert the notifier's row, unless it is there. Index: primary key of notifier.
INSERT INTO duetime_notifier (id, version)
VALUES (1, 0)
ON CONFLICT (id) DO NOTHING
