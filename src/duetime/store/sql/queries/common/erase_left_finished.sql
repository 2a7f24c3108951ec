-- How many finished actions match and have data, up to a limit.
-- Indexes: as find_finished, runs_action, primary key of tracebacks.
SELECT count(*)
FROM (
    SELECT h.id
    FROM duetime_history AS h
    WHERE
        h.id IS NOT NULL
        {{history_matches}}
        {{not_wiped}}
        AND h.id < :before -- if :before
    LIMIT :limit
) AS found
