-- Jobs and their ticks.

-- What a job is stands in `record`, as JSON; beside it what jobs are found by. Names are compared
-- byte by byte: all lock several jobs in the same order, whatever the locale.
CREATE TABLE duetime_jobs (
    name text COLLATE "C" PRIMARY KEY,
    app text NOT NULL,
    tenant text,
    declared smallint NOT NULL,
    next_due_at bigint,
    retired_at bigint,
    removed_at bigint,
    record text NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX duetime_jobs_due ON duetime_jobs (app, next_due_at) WHERE next_due_at IS NOT NULL;

-- One row for each tick that was dealt with. It outlives the action.
CREATE TABLE duetime_ticks (
    job text COLLATE "C" NOT NULL,
    tick bigint NOT NULL,
    PRIMARY KEY (job, tick)
);

CREATE INDEX duetime_ticks_tick ON duetime_ticks (tick);

CREATE INDEX duetime_actions_job ON duetime_actions (job) WHERE job IS NOT NULL;

CREATE INDEX duetime_history_occurrences ON duetime_history (job, created_at)
WHERE job IS NOT NULL;

CREATE INDEX duetime_history_dead ON duetime_history (job)
WHERE job IS NOT NULL AND state = 'failed';

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (2, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
