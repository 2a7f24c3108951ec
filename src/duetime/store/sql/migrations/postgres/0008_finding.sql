-- What a failure has in common with others whose texts differ in ids and values only; empty for
-- other outcomes, and for failures of older code. The indexes by which actions are found are built
-- later, without blocking writers.

ALTER TABLE duetime_history ADD COLUMN error_group text;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (8, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
