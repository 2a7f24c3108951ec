-- Which finished actions a filter selects: see model.filter.Filter, and `_action_matches.sql`.
    AND h.state = :state -- if :state
    AND h.state IN ({{any_states}}) -- if :any_states
    AND h.kind = :kind -- if :kind
    AND h.kind IN ({{any_kinds}}) -- if :any_kinds
    AND h.queue = :queue -- if :queue
    AND h.correlation_id = :correlation_id -- if :correlation_id
    AND h.key = :key -- if :key
    AND h.job = :job -- if :job
    AND h.error_group = :error_group -- if :error_group
    AND h.worker = :worker -- if :worker
    AND h.created_by = :created_by -- if :created_by
    AND h.priority = :priority -- if :priority
    AND h.after = :parent -- if :parent
    AND h.tenant = :tenant -- if :tenant
    AND CASE WHEN h.tenant IS NULL THEN true END -- if :untenanted
    AND h.due_at >= :due_from -- if :due_from
    AND h.due_at < :due_before -- if :due_before
    AND h.created_at >= :created_from -- if :created_from
    AND h.created_at < :created_before -- if :created_before
    AND h.finished_at >= :finished_from -- if :finished_from
    AND h.finished_at < :finished_before -- if :finished_before
    AND ( -- if :search
        h.correlation_id = :search OR h.key = :search OR h.job = :search -- if :search
        OR h.id BETWEEN :id_from AND :id_to -- if :id_from
    ) -- if :search
