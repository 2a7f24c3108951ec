-- Insert failed actions again, unless another action holds the key. Index: primary keys.
INSERT INTO duetime_actions (
    {{moved_columns}},
    attempt, base_attempt, lane, modified_at, modified_by
)
SELECT
    h.id, :now, h.expires_at, h.created_at, h.tick, h.after_at, h.after_delay, h.version,
    h.priority, h.after, h.kind, h.queue, h.tenant, h.correlation_id, h.key, h.job,
    h.triggered_by, h.after_on, h.created_by, h.trace, h.payload,
    h.attempt, h.attempt, r.new_lane, :now, :by
FROM {{lane_rows}}
INNER JOIN duetime_history AS h ON h.id = r.action_id
WHERE h.state = 'failed'
ORDER BY h.id DESC
ON CONFLICT DO NOTHING
RETURNING CAST(id AS text)
