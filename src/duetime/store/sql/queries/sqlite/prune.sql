-- Delete the oldest finished actions. Index: history_state.
DELETE FROM duetime_history
WHERE id IN (
    SELECT id FROM (
        SELECT id, finished_at FROM (
            SELECT h.id, h.finished_at
            FROM duetime_history AS h
            WHERE h.state = 'succeeded' AND h.finished_at < :now - :keep
            ORDER BY h.finished_at LIMIT :limit
        )
        UNION ALL
        SELECT id, finished_at FROM (
            SELECT h.id, h.finished_at
            FROM duetime_history AS h
            WHERE h.state = 'cancelled' AND h.finished_at < :now - :keep
            ORDER BY h.finished_at LIMIT :limit
        )
        UNION ALL
        SELECT id, finished_at FROM (
            SELECT h.id, h.finished_at
            FROM duetime_history AS h
            WHERE h.state = 'failed' AND h.finished_at < :now - :keep_failed
            ORDER BY h.finished_at LIMIT :limit
        )
        ORDER BY finished_at
        LIMIT :limit
    )
)
RETURNING id
