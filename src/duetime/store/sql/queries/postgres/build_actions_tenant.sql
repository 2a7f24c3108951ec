-- Build an index without blocking writers, outside a transaction.
CREATE INDEX CONCURRENTLY duetime_actions_tenant ON duetime_actions (tenant, id)
WHERE tenant IS NOT NULL
