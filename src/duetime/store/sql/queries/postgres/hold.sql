-- Until we commit nobody else gives one of these a parent, and while nobody does, many may wait
-- for it: the one that shall wait is held by us alone. Locks no row, so that claims and ends pass.
-- Index: none.
SELECT
    CAST(
        CASE
            WHEN h.id = CAST(:id AS text)
                THEN pg_advisory_xact_lock(hashtextextended(h.id, 0))
            ELSE pg_advisory_xact_lock_shared(hashtextextended(h.id, 0))
        END AS text
    )
FROM json_array_elements_text(:ids) AS h (id)
