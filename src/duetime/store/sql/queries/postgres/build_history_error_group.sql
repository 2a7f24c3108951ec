-- Build an index without blocking writers, outside a transaction.
CREATE INDEX CONCURRENTLY duetime_history_error_group ON duetime_history (error_group, finished_at)
WHERE error_group IS NOT NULL
