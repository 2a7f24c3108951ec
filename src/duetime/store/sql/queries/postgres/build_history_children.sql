-- Build an index without blocking writers, outside a transaction.
CREATE INDEX CONCURRENTLY duetime_history_children ON duetime_history (after)
WHERE after IS NOT NULL
