-- The queues, kinds or outcomes with most runs. Index: primary key of figures.
SELECT
    CAST(f.queue AS text) -- if :by_queue
    CAST(f.kind AS text) -- if :by_kind
    CAST(f.outcome AS text) -- if :by_outcome
FROM duetime_figures AS f
WHERE
    {{figure_matches}}
    AND f.kind <> '' -- unless :by_outcome
GROUP BY 1
ORDER BY sum({{sane_runs}}) DESC, 1
LIMIT :limit
