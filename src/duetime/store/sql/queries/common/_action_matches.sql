-- The filter of find and cancel_many: see model.filter.Filter. Its conditions often hold for all
-- rows; inside a CASE, PostgreSQL does not assume that they are rare in a table not analysed yet.
    AND a.kind = :kind -- if :kind
    AND a.queue = :queue -- if :queue
    AND a.correlation_id = :correlation_id -- if :correlation_id
    AND a.key = :key -- if :key
    AND a.tenant = :tenant -- if :tenant
    AND CASE WHEN a.tenant IS NULL THEN true END -- if :untenanted
    AND a.due_at >= :due_from -- if :due_from
    AND a.due_at < :due_before -- if :due_before
    AND CASE WHEN a.token IS NULL THEN true END -- if :scheduled
    AND a.token IS NOT NULL -- if :running
