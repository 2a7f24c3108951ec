-- The last report of an app. Index: primary key of reports.
SELECT r.app, r.at, r.worker, r.report
FROM duetime_reports AS r
WHERE r.app = :app
