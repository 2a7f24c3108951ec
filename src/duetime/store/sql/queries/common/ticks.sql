-- Ticks of a job that were applied. Index: primary key of ticks.
SELECT CAST(t.tick AS bigint)
FROM duetime_ticks AS t
WHERE t.job = :job_name AND t.tick >= :since AND t.tick < :until
ORDER BY t.tick
