-- Jobs and their ticks.

-- What a job is stands in `record`, as JSON; beside it what jobs are found by.
CREATE TABLE duetime_jobs (
    name text PRIMARY KEY NOT NULL,
    app text NOT NULL,
    tenant text,
    declared integer NOT NULL,
    next_due_at integer,
    retired_at integer,
    removed_at integer,
    record text NOT NULL
);

CREATE INDEX duetime_jobs_due ON duetime_jobs (app, next_due_at) WHERE next_due_at IS NOT NULL;

-- One row for each tick that was dealt with. It outlives the action.
CREATE TABLE duetime_ticks (
    job text NOT NULL,
    tick integer NOT NULL,
    PRIMARY KEY (job, tick)
) WITHOUT ROWID;

CREATE INDEX duetime_ticks_tick ON duetime_ticks (tick);

CREATE INDEX duetime_actions_job ON duetime_actions (job) WHERE job IS NOT NULL;

CREATE INDEX duetime_history_occurrences ON duetime_history (job, created_at)
WHERE job IS NOT NULL;

CREATE INDEX duetime_history_dead ON duetime_history (job)
WHERE job IS NOT NULL AND state = 'failed';

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (2, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
