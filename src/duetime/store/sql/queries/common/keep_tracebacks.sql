-- Keep the tracebacks of failed attempts, each in place of an earlier one of its action. This
-- transaction has completed their runs. Index: primary key of tracebacks.
INSERT INTO duetime_tracebacks (action_id, run_id, kept_at, traceback)
SELECT n.action_id, n.run_id, :now, n.traceback FROM {{traceback_rows}}
WHERE n.action_id IS NOT NULL
ON CONFLICT (action_id) DO UPDATE
SET run_id = excluded.run_id, kept_at = excluded.kept_at, traceback = excluded.traceback
