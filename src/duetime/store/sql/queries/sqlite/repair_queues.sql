-- Replace the damaged values of a queue, unless a constraint refuses the row, as where its name is
-- taken.
UPDATE OR IGNORE duetime_queues
SET
    name = :row ->> 'name',
    paused_at = :row ->> 'paused_at',
    paused_by = :row ->> 'paused_by',
    pause_note = :row ->> 'pause_note',
    paused_until = :row ->> 'paused_until'
WHERE rowid = :rowid
RETURNING rowid
