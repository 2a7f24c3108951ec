-- Build an index without blocking writers, outside a transaction.
CREATE INDEX CONCURRENTLY duetime_history_tenant ON duetime_history (tenant, id)
WHERE tenant IS NOT NULL
