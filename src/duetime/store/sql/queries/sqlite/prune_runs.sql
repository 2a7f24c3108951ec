-- Delete the runs of pruned actions. Index: runs_action.
DELETE FROM duetime_runs
WHERE action_id IN ({{ids}})
