-- Delete every pause of a queue.
DELETE FROM duetime_queues
