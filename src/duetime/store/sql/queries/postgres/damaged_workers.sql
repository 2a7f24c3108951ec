-- Live workers of an app whose list of jobs is not what a worker writes: a JSON array of texts in
-- ASCII. It is compared with a pattern: a cast would fail on what this statement searches for.
-- Index: none; there are few workers, read once a minute.
SELECT CAST(w.id AS text)
FROM duetime_workers AS w
WHERE
    w.app = :app AND w.seen_at > :now - :alive
    AND w.id = :worker -- if :worker
    AND coalesce(w.jobs, w.kinds) !~ (
        '^\[("([ !#-[\]-~]|\\["\\bfnrt]|\\u(?!0000|d[89a-f])[0-9a-f]{4}'
        || '|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})*"(, (?=")|(?=\])))*\]$'
    )
