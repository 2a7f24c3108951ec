-- Build an index without blocking writers, outside a transaction.
CREATE INDEX CONCURRENTLY duetime_actions_children ON duetime_actions (after)
WHERE after IS NOT NULL
