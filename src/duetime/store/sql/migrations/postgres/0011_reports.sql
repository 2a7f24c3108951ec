-- The last report of each app's row transitions. Older code neither writes nor reads it.

CREATE TABLE duetime_reports (
    app text PRIMARY KEY,
    at bigint NOT NULL,
    worker text NOT NULL,
    report text NOT NULL
);

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (11, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
