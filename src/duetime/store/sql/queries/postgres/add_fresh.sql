-- Insert new actions without key and parent whose ids are fresh, so that none can be stored or have
-- finished already: checking each would take a third more time. Returns their creation time, which
-- is read once for all of them. It reads nothing but the rows, so there is only one plan, which can
-- be cached whatever the tables hold. Indexes: primary key.
WITH stored AS (
    INSERT INTO duetime_actions (
        id, kind, version, payload, queue, priority, tenant, correlation_id, lane, due_at,
        trace, -- if :traced
        created_at, created_by
    )
    SELECT
        :each_id, :each_kind, :each_version, :each_payload, :each_queue, :each_priority,
        :each_tenant, :each_correlation_id, :each_lane,
        coalesce(:each_due_at, (SELECT :now) + :each_delay),
        :each_trace, -- if :traced
        (SELECT :now), :each_created_by
    FROM unnest(:arrays) AS n (:columns)
)
SELECT CAST(:now AS bigint)
