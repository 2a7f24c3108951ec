-- Runs by step, by the value of a column and by bucket. Index: primary key of figures.
SELECT
    CAST((f.minute - :since) / :step AS bigint),
    CASE WHEN f.queue IN ({{names}}) THEN CAST(f.queue AS text) ELSE '' END, -- if :by_queue
    CASE WHEN f.kind IN ({{names}}) THEN CAST(f.kind AS text) ELSE '' END, -- if :by_kind
    CASE WHEN f.outcome IN ({{names}}) THEN CAST(f.outcome AS text) ELSE '' END, -- if :by_outcome
    '', -- unless :names
    CAST(f.lateness AS bigint), -- if :by_lateness
    CAST(f.duration AS bigint), -- if :by_duration
    0, -- unless :buckets
    CAST(sum({{sane_runs}}) AS bigint)
FROM duetime_figures AS f
WHERE
    {{figure_matches}}
GROUP BY 1, 2, 3
