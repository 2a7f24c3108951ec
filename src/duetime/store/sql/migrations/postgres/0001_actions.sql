-- Actions, their history and runs, the audit log, workers.
-- Instants are microseconds since 1970.

CREATE TABLE duetime_migrations (
    version integer PRIMARY KEY,
    applied_at bigint NOT NULL,
    -- The oldest schema version that code must know to go on using this database.
    oldest_code integer NOT NULL
);

CREATE TABLE duetime_store (
    id uuid PRIMARY KEY,
    created_at bigint NOT NULL
);

-- Unfinished actions only: scheduled without a token, running with one. Every claim must be
-- a HOT update: so no index may name a column that a claim or a renewal changes (attempt,
-- token, worker, lease_until, started_at), and each page has room for all its rows once more,
-- and by half larger, since a claimed row is longer by its token and worker.
CREATE TABLE duetime_actions (
    id uuid PRIMARY KEY,
    due_at bigint,
    lease_until bigint NOT NULL DEFAULT 0,
    started_at bigint,
    created_at bigint NOT NULL,
    modified_at bigint,
    tick bigint,
    after_at bigint,
    after_delay bigint,
    version integer NOT NULL,
    attempt integer NOT NULL DEFAULT 0,
    base_attempt integer NOT NULL DEFAULT 0,
    priority smallint NOT NULL,
    losses smallint NOT NULL DEFAULT 0,
    token uuid,
    after uuid,
    kind text NOT NULL,
    -- Compared byte by byte: the sweep leaps from lane to lane, whatever the locale.
    lane text COLLATE "C",
    queue text NOT NULL,
    tenant text,
    correlation_id text,
    key text,
    worker text,
    stop_by text,
    job text,
    triggered_by text,
    after_on text,
    created_by text NOT NULL,
    modified_by text,
    trace text,
    error text,
    progress text,
    payload text NOT NULL
) WITH (
    fillfactor = 40,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000
);

-- Nothing else in it: with a trailing id, a planner misled by statistics of the empty table
-- once looked up ids by scanning all of it.
CREATE INDEX duetime_actions_due ON duetime_actions (lane, due_at);

CREATE UNIQUE INDEX duetime_actions_key ON duetime_actions (coalesce(tenant, ''), kind, key)
WHERE key IS NOT NULL;

CREATE INDEX duetime_actions_correlation ON duetime_actions (correlation_id)
WHERE correlation_id IS NOT NULL;

CREATE INDEX duetime_actions_after ON duetime_actions (after) WHERE due_at IS NULL;

-- Finished actions. The token is the one that ended it: a completion sent again is known by it.
CREATE TABLE duetime_history (
    id uuid PRIMARY KEY,
    due_at bigint,
    lease_until bigint,
    started_at bigint,
    finished_at bigint NOT NULL,
    created_at bigint NOT NULL,
    modified_at bigint,
    tick bigint,
    after_at bigint,
    after_delay bigint,
    version integer NOT NULL,
    attempt integer NOT NULL,
    base_attempt integer NOT NULL,
    priority smallint NOT NULL,
    losses smallint NOT NULL,
    token uuid,
    after uuid,
    kind text NOT NULL,
    state text NOT NULL,
    outcome text,
    queue text NOT NULL,
    tenant text,
    correlation_id text,
    key text,
    worker text,
    job text,
    triggered_by text,
    after_on text,
    created_by text NOT NULL,
    modified_by text,
    cancelled_by text,
    trace text,
    error text,
    result text,
    progress text,
    payload text NOT NULL,
    CHECK (state IN ('succeeded', 'failed', 'cancelled'))
);

CREATE INDEX duetime_history_state ON duetime_history (state, finished_at);

CREATE INDEX duetime_history_kind ON duetime_history (kind, id);

CREATE INDEX duetime_history_correlation ON duetime_history (correlation_id)
WHERE correlation_id IS NOT NULL;

CREATE INDEX duetime_history_job ON duetime_history (job, tick) WHERE job IS NOT NULL;

-- Earlier runs: the current or last one is told by the action's own row.
CREATE TABLE duetime_runs (
    id uuid PRIMARY KEY,
    -- The order in which they ended; a stopped clock gives many of them the same time.
    seq bigint GENERATED ALWAYS AS IDENTITY,
    action_id uuid NOT NULL,
    due_at bigint,
    started_at bigint,
    finished_at bigint,
    lease_until bigint,
    attempt integer NOT NULL,
    worker text,
    outcome text,
    result text,
    error text
);

CREATE INDEX duetime_runs_action ON duetime_runs (action_id);

CREATE TABLE duetime_audit (
    id uuid PRIMARY KEY,
    at bigint NOT NULL,
    "by" text NOT NULL,
    tenant text,
    verb text NOT NULL,
    subject text NOT NULL,
    subject_id text NOT NULL,
    before text NOT NULL,
    after text NOT NULL
);

CREATE INDEX duetime_audit_subject ON duetime_audit (subject_id, at);

CREATE TABLE duetime_workers (
    id text PRIMARY KEY,
    app text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    kinds text NOT NULL,
    queues text NOT NULL,
    concurrency integer NOT NULL,
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL
);

INSERT INTO duetime_store (id, created_at)
VALUES (
    gen_random_uuid(), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)
);

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (1, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
