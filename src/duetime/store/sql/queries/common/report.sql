-- The last report of an app. Index: primary key of reports.
SELECT CAST(r.app AS text), CAST(r.at AS bigint), CAST(r.worker AS text), CAST(r.report AS text)
FROM duetime_reports AS r
WHERE r.app = :app
