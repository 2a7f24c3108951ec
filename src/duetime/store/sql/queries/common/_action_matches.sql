-- The filter of find, cancel_many: see model.filter.Filter. What is asked for is often so of all
-- rows; inside a CASE, PostgreSQL does not take it for rare in a table that it has not analysed.
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
