-- The filter of find, cancel_many: see model.filter.Filter.
    AND a.kind = :kind -- if :kind
    AND a.queue = :queue -- if :queue
    AND a.correlation_id = :correlation_id -- if :correlation_id
    AND a.key = :key -- if :key
    AND a.tenant = :tenant -- if :tenant
    AND a.tenant IS NULL -- if :untenanted
    AND a.due_at >= :due_from -- if :due_from
    AND a.due_at < :due_before -- if :due_before
    AND a.token IS NULL -- if :scheduled
    AND a.token IS NOT NULL -- if :running
