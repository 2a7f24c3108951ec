-- Whether runs were counted beyond what workers keep apart. Index: primary key of figures.
SELECT EXISTS (
    SELECT 1 FROM duetime_figures AS f
    WHERE f.minute >= :since AND f.minute < :until AND f.kind = ''
)
