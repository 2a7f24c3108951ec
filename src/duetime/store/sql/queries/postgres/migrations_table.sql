-- Whether our tables are there, and the schema they belong in. Reading a table makes this
-- session hear of what others have created: to_regclass alone may answer from memory.
SELECT
    to_regclass(:name) IS NOT NULL,
    :schema IS NULL OR to_regnamespace(:schema) IS NOT NULL
FROM pg_catalog.pg_database
WHERE datname = current_database()
