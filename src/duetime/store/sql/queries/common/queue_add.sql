-- Give a queue a row, so that it can be locked. Index: primary key of queues.
INSERT INTO duetime_queues (name)
VALUES (:queue)
ON CONFLICT (name) DO NOTHING
