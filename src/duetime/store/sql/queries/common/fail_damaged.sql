-- Copy a scheduled action to history as failed, and lock it until commit.
-- Index: primary key of actions.
INSERT INTO duetime_history (
    {{moved_columns}},
    attempt, base_attempt, losses, error, error_group, progress, state, outcome, modified_at,
    modified_by, finished_at
)
SELECT
    {{moved_columns}},
    attempt, base_attempt, losses, :reason, :error_group, progress, 'failed', 'failed',
    modified_at, modified_by, :now
FROM duetime_actions
WHERE token IS NULL AND due_at IS NOT NULL AND id = :id
{{for_update}}
RETURNING CAST(id AS text)
