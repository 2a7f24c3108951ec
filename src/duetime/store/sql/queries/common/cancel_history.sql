-- Copy scheduled actions to history as cancelled. Index: primary key of actions.
INSERT INTO duetime_history (
    {{moved_columns}},
    attempt, base_attempt, losses, error, progress, state, cancelled_by, modified_at, modified_by,
    finished_at
)
SELECT
    {{moved_columns}},
    attempt, base_attempt, losses,
    error, -- unless :error
    :error, -- if :error
    progress, 'cancelled', :by, :now, :by, :now
FROM duetime_actions
WHERE token IS NULL AND id IN ({{ids}})
