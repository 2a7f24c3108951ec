-- Bring parked actions home. Index: primary key of actions.
UPDATE duetime_actions AS a
SET lane = r.new_lane, error = NULL
FROM {{lane_rows}}
WHERE a.id = r.action_id AND a.lane = :lane AND a.token IS NULL
RETURNING a.lane, a.due_at, :now
