-- What was answered to requests that carried an idempotency key, for a day.

CREATE TABLE duetime_answers (
    id text PRIMARY KEY,
    tenant text,
    digest text NOT NULL,
    created_at bigint NOT NULL,
    status smallint,
    location text,
    document text
);

CREATE INDEX duetime_answers_age ON duetime_answers (created_at);

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (14, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
