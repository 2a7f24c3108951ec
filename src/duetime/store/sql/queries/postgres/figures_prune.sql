-- Delete the oldest figures; skips those that another worker is deleting.
-- Index: primary key of figures.
DELETE FROM duetime_figures AS f
WHERE f.ctid = ANY (
    ARRAY(
        SELECT o.ctid
        FROM duetime_figures AS o
        WHERE o.minute < :now - :keep
        ORDER BY o.minute
        LIMIT :limit
        FOR UPDATE SKIP LOCKED
    )
)
RETURNING 1
