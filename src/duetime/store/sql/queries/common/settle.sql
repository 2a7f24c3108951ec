-- Store the settlement of waiting children, which this transaction has locked: their due time, the
-- error for which they are cancelled, or the parent for which they wait next; and their trace.
-- Index: primary key of actions.
UPDATE duetime_actions
SET
    after = settled_after,
    after_on = settled_on,
    due_at = settled_due_at,
    lane = settled_lane,
    error = settled_error,
    trace = settled_trace
FROM {{settled_rows}}
WHERE id = settled_id AND token IS NULL
