-- Actions that match, finished or not, in one snapshot. Indexes: primary keys, kind, correlation.
SELECT * FROM ({{find_unfinished}}) AS unfinished
UNION ALL
SELECT * FROM ({{find_finished}}) AS finished
