-- How many runs ended in each minute, as workers count them. An empty tenant is none; an empty
-- kind, with an empty queue, is what a worker could not keep apart.

CREATE TABLE duetime_figures (
    minute integer NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    tenant text NOT NULL,
    outcome text NOT NULL,
    lateness integer NOT NULL,
    duration integer NOT NULL,
    runs integer NOT NULL,
    PRIMARY KEY (minute, queue, kind, tenant, outcome, lateness, duration)
);

-- The number of the last batch of figures that the worker added.
ALTER TABLE duetime_workers ADD COLUMN figures_added integer;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (12, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
