-- The schema that was configured.
CREATE SCHEMA IF NOT EXISTS duetime_schema
