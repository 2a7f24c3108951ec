-- Build an index without blocking writers, outside a transaction.
CREATE INDEX CONCURRENTLY duetime_history_failed ON duetime_history (id)
WHERE state = 'failed'
