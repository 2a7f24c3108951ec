-- Delete every earlier run.
DELETE FROM duetime_runs
