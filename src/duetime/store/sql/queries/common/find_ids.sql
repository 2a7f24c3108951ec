-- Actions of both tables, as `find_unfinished_ids` and `find_finished_ids`, in one snapshot.
SELECT * FROM ({{unfinished_ids}}) AS unfinished
UNION ALL
SELECT * FROM ({{finished_ids}}) AS finished
