-- Store new actions without key and parent whose ids were made for them just now, so that nobody
-- can have stored or finished them: to make sure of it for each would take a third more time. Tells
-- when they were stored, which is read once for all of them. Nothing but the rows is read, so there
-- is one plan, and it can be kept whatever the tables hold. Indexes: primary key.
WITH stored AS (
    INSERT INTO duetime_actions (
        id, kind, version, payload, queue, priority, tenant, correlation_id, lane, due_at,
        created_at, created_by
    )
    SELECT
        :each_id, :each_kind, :each_version, :each_payload, :each_queue, :each_priority,
        :each_tenant, :each_correlation_id, :each_lane,
        coalesce(:each_due_at, (SELECT :now) + :each_delay), (SELECT :now), :each_created_by
    FROM unnest(:arrays) AS n (:columns)
)
SELECT CAST(:now AS bigint)
