-- The last report of each app's row transitions. Older code neither writes nor reads it.

CREATE TABLE duetime_reports (
    app text PRIMARY KEY NOT NULL,
    at integer NOT NULL,
    worker text NOT NULL,
    report text NOT NULL
);

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (11, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
