-- The indexes of three tables, and whether they are valid. Index: those of the catalogue.
SELECT CAST(c.relname AS text), i.indisvalid
FROM pg_catalog.pg_index AS i
INNER JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
WHERE
    i.indrelid IN (
        to_regclass(:actions_table), to_regclass(:history_table), to_regclass(:audit_table)
    )
