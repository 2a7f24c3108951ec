-- Add runs to figures. Index: primary key of figures.
INSERT INTO duetime_figures AS f (
    minute, queue, kind, tenant, outcome, lateness, duration, runs
)
SELECT n.minute, n.queue, n.kind, n.tenant, n.outcome, n.lateness, n.duration, n.runs
FROM {{figure_rows}}
WHERE n.minute IS NOT NULL
ON CONFLICT (minute, queue, kind, tenant, outcome, lateness, duration) DO UPDATE
    SET runs = {{sane_runs}} + excluded.runs
