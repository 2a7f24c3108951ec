-- The run of an action that failed last, and its traceback. Index: primary key of tracebacks.
SELECT CAST(t.run_id AS text), CAST(t.traceback AS text)
FROM duetime_tracebacks AS t
WHERE t.action_id = :id
