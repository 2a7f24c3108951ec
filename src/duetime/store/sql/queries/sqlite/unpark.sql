-- Bring parked actions home. Index: primary key of actions.
UPDATE duetime_actions
SET lane = new_lane, error = NULL
FROM {{lane_rows}}
WHERE id = action_id AND lane = :lane AND token IS NULL
RETURNING lane, due_at, :now
