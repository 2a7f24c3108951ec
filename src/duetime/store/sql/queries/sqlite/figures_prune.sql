-- Delete the oldest figures. Index: primary key of figures.
DELETE FROM duetime_figures
WHERE rowid IN (
    SELECT o.rowid
    FROM duetime_figures AS o
    WHERE o.minute < :now - :keep
    ORDER BY o.minute
    LIMIT :limit
)
RETURNING 1
