-- How many unfinished actions match, up to a limit, and how many of them run.
-- Indexes: as find_unfinished.
SELECT count(*), count(found.token)
FROM (
    SELECT a.token
    FROM duetime_actions AS a
    WHERE
        a.id IS NOT NULL
        {{action_matches}}
    LIMIT :limit
) AS found
