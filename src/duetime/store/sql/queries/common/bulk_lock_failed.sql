-- The actions among these ids that are still failed and match, without what is long, locked until
-- commit; skips rows that other transactions have locked. Index: primary key of history.
SELECT {{history_columns}}, :now, NULL, NULL
FROM duetime_history AS h
WHERE
    h.state = 'failed' AND h.id IN ({{ids}})
    {{history_matches}}
ORDER BY h.id DESC
{{skip_locked_finished}}
