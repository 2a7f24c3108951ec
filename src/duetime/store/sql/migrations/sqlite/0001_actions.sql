-- Actions, their history and runs, the audit log, workers.
-- Instants are microseconds since 1970.

CREATE TABLE duetime_migrations (
    version integer PRIMARY KEY,
    applied_at integer NOT NULL,
    -- The oldest schema version that code must know to go on using this database.
    oldest_code integer NOT NULL
);

CREATE TABLE duetime_store (
    id text PRIMARY KEY NOT NULL,
    created_at integer NOT NULL
);

-- Unfinished actions only: scheduled without a token, running with one.
CREATE TABLE duetime_actions (
    id text PRIMARY KEY NOT NULL,
    due_at integer,
    lease_until integer NOT NULL DEFAULT 0,
    started_at integer,
    created_at integer NOT NULL,
    modified_at integer,
    tick integer,
    after_at integer,
    after_delay integer,
    version integer NOT NULL,
    attempt integer NOT NULL DEFAULT 0,
    base_attempt integer NOT NULL DEFAULT 0,
    priority integer NOT NULL,
    losses integer NOT NULL DEFAULT 0,
    token text,
    after text,
    kind text NOT NULL,
    lane text,
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
);

CREATE INDEX duetime_actions_due ON duetime_actions (lane, due_at);

CREATE INDEX duetime_actions_lease ON duetime_actions (lease_until) WHERE token IS NOT NULL;

CREATE UNIQUE INDEX duetime_actions_key ON duetime_actions (coalesce(tenant, ''), kind, key)
WHERE key IS NOT NULL;

CREATE INDEX duetime_actions_correlation ON duetime_actions (correlation_id)
WHERE correlation_id IS NOT NULL;

CREATE INDEX duetime_actions_after ON duetime_actions (after) WHERE due_at IS NULL;

-- Finished actions. The token is the one that ended it: a completion sent again is known by it.
CREATE TABLE duetime_history (
    id text PRIMARY KEY NOT NULL,
    due_at integer,
    lease_until integer,
    started_at integer,
    finished_at integer NOT NULL,
    created_at integer NOT NULL,
    modified_at integer,
    tick integer,
    after_at integer,
    after_delay integer,
    version integer NOT NULL,
    attempt integer NOT NULL,
    base_attempt integer NOT NULL,
    priority integer NOT NULL,
    losses integer NOT NULL,
    token text,
    after text,
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
    -- The order in which they ended; a stopped clock gives many of them the same time.
    seq integer PRIMARY KEY,
    id text NOT NULL UNIQUE,
    action_id text NOT NULL,
    due_at integer,
    started_at integer,
    finished_at integer,
    lease_until integer,
    attempt integer NOT NULL,
    worker text,
    outcome text,
    result text,
    error text
);

CREATE INDEX duetime_runs_action ON duetime_runs (action_id);

CREATE TABLE duetime_audit (
    id text PRIMARY KEY NOT NULL,
    at integer NOT NULL,
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
    id text PRIMARY KEY NOT NULL,
    app text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    kinds text NOT NULL,
    queues text NOT NULL,
    concurrency integer NOT NULL,
    started_at integer NOT NULL,
    seen_at integer NOT NULL
);

INSERT INTO duetime_store (id, created_at)
VALUES (
    lower(
        hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-' || hex(randomblob(2))
        || '-' || hex(randomblob(2)) || '-' || hex(randomblob(6))
    ),
    CAST((julianday('now') - 2440587.5) * 86400000000 AS integer)
);

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (1, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
