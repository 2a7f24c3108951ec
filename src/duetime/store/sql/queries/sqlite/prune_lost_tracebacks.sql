-- Delete old tracebacks of actions that are gone: older code prunes actions without them. Indexes:
-- tracebacks_kept_at, primary keys of actions and history.
DELETE FROM duetime_tracebacks
WHERE action_id IN (
    SELECT t.action_id
    FROM duetime_tracebacks AS t
    WHERE
        t.kept_at < :now - max(:keep, :keep_failed)
        AND NOT EXISTS (SELECT 1 FROM duetime_actions AS a WHERE a.id = t.action_id)
        AND NOT EXISTS (SELECT 1 FROM duetime_history AS h WHERE h.id = t.action_id)
    ORDER BY t.kept_at
    LIMIT :limit
)
