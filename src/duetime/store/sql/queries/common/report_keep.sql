-- Keep an app's report in place of the one before. Index: primary key of reports.
INSERT INTO duetime_reports (app, at, worker, report)
VALUES (:app, :now, :worker, :report)
ON CONFLICT (app) DO UPDATE SET at = excluded.at, worker = excluded.worker, report = excluded.report
