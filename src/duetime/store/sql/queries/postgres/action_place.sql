-- The lane of an unfinished action, and whether a transaction in progress has locked its row: it
-- is the one named in xmax. Reads only, and takes no lock, which claims would pass over. The server
-- tells xmax without its epoch: the transaction of that number nearest to now is meant, unless it
-- is still to come. Several transactions that share a row are a group, which is not found.
-- Index: primary key.
SELECT
    :now,
    CAST(x.lane AS text),
    CASE
        WHEN x.begun AND x.locker > 2
            THEN coalesce(
                pg_xact_status(CAST(CAST(x.locker AS text) AS xid8)) = 'in progress', FALSE
            )
        ELSE FALSE
    END
FROM (
    SELECT
        a.lane,
        age(a.xmax) > 0 AS begun,
        s.newest
        + mod(
            CAST(CAST(a.xmax AS text) AS bigint) - mod(s.newest, 4294967296) + 6442450944,
            4294967296
        )
        - 2147483648 AS locker
    FROM duetime_actions AS a
    CROSS JOIN (
        SELECT CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint) AS newest
    ) AS s
    WHERE a.id = :id
) AS x
