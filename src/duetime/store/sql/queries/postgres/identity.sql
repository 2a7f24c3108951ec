-- The store's id, and the schema of its tables. Index: primary keys of the catalogue.
SELECT CAST(s.id AS text), CAST(n.nspname AS text)
FROM duetime_store AS s
INNER JOIN pg_catalog.pg_class AS c ON c.oid = s.tableoid
INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
