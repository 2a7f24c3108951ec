-- The actions with these ids that match, finished or not, in one snapshot. What they must match is
-- inside a CASE: PostgreSQL would look for all that match. Indexes: primary keys.
SELECT {{action_columns}}
FROM duetime_actions AS a
WHERE
    a.id IN ({{ids}})
    AND false -- unless :unfinished
    AND CASE
        WHEN
            true
            {{action_matches}}
            THEN true
    END
UNION ALL
SELECT {{history_columns}}
FROM duetime_history AS h
WHERE
    h.id IN ({{ids}})
    AND false -- unless :finished
    AND CASE
        WHEN
            true
            {{history_matches}}
            THEN true
    END
