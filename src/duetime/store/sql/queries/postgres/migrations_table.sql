-- Whether our tables are there, and the schema they belong in.
SELECT
    to_regclass(:name) IS NOT NULL,
    :schema IS NULL OR to_regnamespace(:schema) IS NOT NULL
