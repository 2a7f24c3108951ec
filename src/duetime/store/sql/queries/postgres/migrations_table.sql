-- Whether the migrations table and the configured schema exist. Reads the catalogue's tables:
-- to_regclass answers from a cache that may miss tables that were created while we waited.
SELECT
    (
        SELECT count(*)
        FROM pg_catalog.pg_class AS c
        INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        WHERE
            c.relname = :table
            AND CASE
                WHEN :schema IS NULL THEN n.nspname = ANY (current_schemas(FALSE))
                ELSE n.nspname = :schema
            END
    ),
    (
        SELECT count(*) FROM pg_catalog.pg_namespace AS n
        WHERE :schema IS NULL OR n.nspname = :schema
    )
