    AND (
        h.payload <> 'null' OR h.result IS NOT NULL OR h.error IS NOT NULL
        OR h.error_group IS NOT NULL OR h.progress IS NOT NULL OR h.trace IS NOT NULL
        OR EXISTS (SELECT 1 FROM duetime_runs AS r WHERE r.action_id = h.id)
        OR EXISTS (SELECT 1 FROM duetime_tracebacks AS t WHERE t.action_id = h.id)
    )
