-- The actions of each tenant that hold a key, or had it last, in one snapshot. Indexes:
-- actions_key; key of history, where there is one; kind.
SELECT * FROM ({{unfinished_by_key}}) AS unfinished
UNION ALL
SELECT * FROM ({{finished_by_key}}) AS finished
