-- Lock these actions against getting another parent until commit. Ancestors are locked shared,
-- since many actions may wait for them; the action that is to wait is locked exclusively. Advisory
-- locks, so that claims and completions pass. Index: none.
SELECT
    CAST(
        CASE
            WHEN h.id = CAST(:id AS text)
                THEN pg_advisory_xact_lock(hashtextextended(h.id, 0))
            ELSE pg_advisory_xact_lock_shared(hashtextextended(h.id, 0))
        END AS text
    )
FROM json_array_elements_text(:ids) AS h (id)
