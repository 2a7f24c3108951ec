-- Build an index without blocking writers, outside a transaction.
CREATE INDEX CONCURRENTLY duetime_audit_at ON duetime_audit (at, id)
