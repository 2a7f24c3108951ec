(
    SELECT
        n.position, :each_id AS id, :each_payload AS payload,
        :each_correlation_id AS correlation_id, :each_key AS key, :each_after AS after,
        :each_after_on AS after_on, :each_after_at AS after_at, :each_after_delay AS after_delay,
        :each_kind AS kind, :each_version AS version, :each_queue AS queue,
        :each_priority AS priority, :each_tenant AS tenant, :each_lane AS lane,
        :each_due_at AS due_at, :each_delay AS delay, :each_expires_at AS expires_at,
        :each_trace AS trace, -- if :traced
        :each_created_by AS created_by
    FROM unnest(:arrays) WITH ORDINALITY AS n (:columns, position)
) AS n
