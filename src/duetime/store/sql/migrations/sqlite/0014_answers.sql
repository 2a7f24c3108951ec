-- What was answered to requests that carried an idempotency key, for a day.

CREATE TABLE duetime_answers (
    id text PRIMARY KEY NOT NULL,
    tenant text,
    digest text NOT NULL,
    created_at integer NOT NULL,
    status integer,
    location text,
    document text
);

CREATE INDEX duetime_answers_age ON duetime_answers (created_at);

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (14, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
