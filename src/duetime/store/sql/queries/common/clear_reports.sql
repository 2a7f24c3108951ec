-- Delete all reports.
DELETE FROM duetime_reports
