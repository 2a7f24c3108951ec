-- The number of occurrences of these jobs that failed for good. Index: history_dead.
SELECT CAST(h.job AS text), count(*)
FROM duetime_history AS h
WHERE h.job IN ({{names}}) AND h.job IS NOT NULL AND h.state = 'failed'
GROUP BY h.job
