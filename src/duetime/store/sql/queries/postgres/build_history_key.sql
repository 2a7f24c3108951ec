-- Build an index without blocking writers, outside a transaction.
CREATE INDEX CONCURRENTLY duetime_history_key ON duetime_history (key)
WHERE key IS NOT NULL
