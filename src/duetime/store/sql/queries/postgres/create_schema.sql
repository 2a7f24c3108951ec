-- Create the configured schema.
CREATE SCHEMA IF NOT EXISTS duetime_schema
