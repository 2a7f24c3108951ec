-- What keeps dead rows of this database from being vacuumed, oldest first: sessions and prepared
-- transactions by how long they are open, replication slots by transactions. No index.
SELECT x.name, x.seconds, x.transactions
FROM (
    SELECT
        'session ' || s.pid || ' (' || coalesce(nullif(s.application_name, ''), 'unnamed')
        || ', ' || coalesce(s.usename, 'unknown') || ')' AS name,
        CAST(extract(epoch FROM clock_timestamp() - s.xact_start) AS double precision) AS seconds,
        CAST(NULL AS bigint) AS transactions
    FROM pg_catalog.pg_stat_activity AS s
    WHERE
        s.datname = current_database() AND s.pid <> pg_backend_pid()
        AND s.xact_start IS NOT NULL
        AND (s.backend_xmin IS NOT NULL OR s.backend_xid IS NOT NULL)
        AND s.backend_type = 'client backend'
    UNION ALL
    SELECT
        'prepared transaction ' || p.gid,
        CAST(extract(epoch FROM clock_timestamp() - p.prepared) AS double precision),
        CAST(NULL AS bigint)
    FROM pg_catalog.pg_prepared_xacts AS p
    WHERE p.database = current_database()
    UNION ALL
    SELECT
        'replication slot ' || r.slot_name,
        CAST(NULL AS double precision),
        CAST(age(r.xmin) AS bigint)
    FROM pg_catalog.pg_replication_slots AS r
    WHERE r.xmin IS NOT NULL
) AS x
ORDER BY x.seconds DESC NULLS LAST
LIMIT 20
