-- Build an index without blocking writers, outside a transaction.
CREATE INDEX CONCURRENTLY duetime_actions_by_key ON duetime_actions (key)
WHERE key IS NOT NULL
