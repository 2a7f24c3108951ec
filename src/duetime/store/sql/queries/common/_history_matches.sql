-- The filter of find and retry_many: see model.filter.Filter, and `_action_matches.sql`.
    AND h.state = :state -- if :state
    AND h.kind = :kind -- if :kind
    AND h.queue = :queue -- if :queue
    AND h.correlation_id = :correlation_id -- if :correlation_id
    AND h.key = :key -- if :key
    AND h.tenant = :tenant -- if :tenant
    AND CASE WHEN h.tenant IS NULL THEN true END -- if :untenanted
    AND h.due_at >= :due_from -- if :due_from
    AND h.due_at < :due_before -- if :due_before
