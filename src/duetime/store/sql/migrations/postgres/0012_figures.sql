-- How many runs ended in each minute, as workers count them. An empty tenant is none; an empty
-- kind, with an empty queue, is what a worker could not keep apart.

CREATE TABLE duetime_figures (
    minute bigint NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    tenant text NOT NULL,
    outcome text NOT NULL,
    lateness bigint NOT NULL,
    duration bigint NOT NULL,
    runs bigint NOT NULL,
    PRIMARY KEY (minute, queue, kind, tenant, outcome, lateness, duration)
) WITH (fillfactor = 80);

-- The number of the last batch of figures that the worker added.
ALTER TABLE duetime_workers ADD COLUMN figures_added bigint;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (12, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
