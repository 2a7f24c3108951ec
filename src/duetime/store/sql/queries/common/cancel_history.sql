-- Scheduled actions as history tells them once cancelled. Index: primary key of actions.
INSERT INTO duetime_history (
    {{carried}},
    base_attempt, losses, error, progress, state, cancelled_by, modified_at, modified_by,
    finished_at
)
SELECT
    {{carried}},
    base_attempt, losses, error, progress, 'cancelled', :by, :now, :by, :now
FROM duetime_actions
WHERE token IS NULL AND id IN ({{ids}})
