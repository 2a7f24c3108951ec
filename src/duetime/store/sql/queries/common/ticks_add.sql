-- Insert ticks that were not applied before. Index: primary key of ticks.
INSERT INTO duetime_ticks (job, tick)
SELECT n.job_name, n.job_tick FROM {{tick_rows}}
WHERE n.job_name IS NOT NULL
ON CONFLICT DO NOTHING
RETURNING CAST(job AS text), CAST(tick AS bigint)
