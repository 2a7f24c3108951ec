(
    SELECT
        :each_id AS id, :each_kind AS kind, :each_version AS version, :each_payload AS payload,
        :each_queue AS queue, :each_priority AS priority, :each_tenant AS tenant,
        :each_lane AS lane, :each_due_at AS due_at, :each_delay AS delay,
        :each_trace AS trace, -- if :traced
        :each_created_by AS created_by, :each_after AS after, :each_after_on AS after_on,
        :each_after_at AS after_at, :each_after_delay AS after_delay, :each_job_name AS job_name,
        :each_job_tick AS job_tick, :each_triggered_by AS triggered_by, :each_skipped AS skipped
    FROM unnest(:arrays) AS n (:columns)
) AS n
