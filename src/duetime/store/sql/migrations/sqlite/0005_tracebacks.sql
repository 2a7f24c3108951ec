-- The traceback of the run of an action that failed last. Older code neither writes nor deletes any.

CREATE TABLE duetime_tracebacks (
    action_id text PRIMARY KEY NOT NULL,
    run_id text NOT NULL,
    kept_at integer NOT NULL,
    traceback text NOT NULL
);

CREATE INDEX duetime_tracebacks_kept_at ON duetime_tracebacks (kept_at);

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (5, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
