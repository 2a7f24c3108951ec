-- The traceback of the run of an action that failed last. Older code neither writes nor deletes any.

CREATE TABLE duetime_tracebacks (
    action_id uuid PRIMARY KEY,
    run_id uuid NOT NULL,
    kept_at bigint NOT NULL,
    traceback text NOT NULL
);

CREATE INDEX duetime_tracebacks_kept_at ON duetime_tracebacks (kept_at);

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (5, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
