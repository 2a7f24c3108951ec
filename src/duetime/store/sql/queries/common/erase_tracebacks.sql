-- Delete the tracebacks of erased actions. Index: primary key of tracebacks.
DELETE FROM duetime_tracebacks
WHERE action_id IN ({{ids}})
