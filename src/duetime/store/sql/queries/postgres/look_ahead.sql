-- Lanes with their next due time, the paused queues, and the next tick of an app. Indexes:
-- actions_due, jobs_due.
WITH RECURSIVE {{lane_heads}}
SELECT
    :now,
    CAST((SELECT json_agg(json_build_array(h.lane, h.next_due)) FROM heads AS h) AS text),
    NULL, 0, NULL, {{paused_queues}}
    , ( -- if :app
        SELECT min(j.next_due_at) -- if :app
        FROM duetime_jobs AS j -- if :app
        WHERE j.app = :app AND j.next_due_at IS NOT NULL -- if :app
    ) -- if :app
