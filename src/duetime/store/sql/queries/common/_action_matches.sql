-- Which unfinished actions a filter selects: see model.filter.Filter. Its conditions often hold
-- for all rows; inside a CASE, PostgreSQL does not take them for rare in a table not analysed yet.
    AND a.kind = :kind -- if :kind
    AND a.kind IN ({{any_kinds}}) -- if :any_kinds
    AND a.queue = :queue -- if :queue
    AND a.correlation_id = :correlation_id -- if :correlation_id
    AND a.key = :key -- if :key
    AND a.job = :job -- if :job
    AND a.worker = :worker -- if :worker
    AND a.created_by = :created_by -- if :created_by
    AND a.priority = :priority -- if :priority
    AND a.after = :parent -- if :parent
    AND a.tenant = :tenant -- if :tenant
    AND CASE WHEN a.tenant IS NULL THEN true END -- if :untenanted
    AND CASE WHEN a.token IS NULL THEN true END -- if :scheduled
    AND a.token IS NOT NULL -- if :running
    AND a.due_at >= :due_from -- if :due_from
    AND a.due_at < :due_before -- if :due_before
    AND a.created_at >= :created_from -- if :created_from
    AND a.created_at < :created_before -- if :created_before
    AND :parked = CASE -- if :parked
        WHEN a.token IS NULL AND a.lane >= 'p.' AND a.lane < 'p/' THEN 1 ELSE 0 -- if :parked
    END -- if :parked
    AND :waiting = CASE WHEN a.due_at IS NULL THEN 1 ELSE 0 END -- if :waiting
    AND :retrying = CASE -- if :retrying
        WHEN a.token IS NULL AND a.attempt > a.base_attempt THEN 1 ELSE 0 -- if :retrying
    END -- if :retrying
    AND :overdue = CASE -- if :overdue
        WHEN -- if :overdue
            a.token IS NULL AND a.due_at <= :now AND a.lane NOT BETWEEN 'p.' AND 'p/' -- if :overdue
            AND NOT EXISTS ( -- if :overdue
                SELECT 1 FROM duetime_queues AS q -- if :overdue
                WHERE q.name = a.queue AND q.paused_at IS NOT NULL -- if :overdue
                    AND (q.paused_until IS NULL OR q.paused_until > :now) -- if :overdue
            ) -- if :overdue
            THEN 1 -- if :overdue
        ELSE 0 -- if :overdue
    END -- if :overdue
    AND ( -- if :search
        a.correlation_id = :search OR a.key = :search OR a.job = :search -- if :search
        OR a.id BETWEEN :id_from AND :id_to -- if :id_from
    ) -- if :search
