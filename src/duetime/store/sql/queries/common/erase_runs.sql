-- Delete the earlier runs of erased actions. Index: runs_action.
DELETE FROM duetime_runs
WHERE action_id IN ({{ids}})
