-- The actions among these ids that are still scheduled and match, without what is long, locked
-- until commit; skips rows that other transactions have locked. Index: primary key of actions.
SELECT {{action_columns}}, :now, CAST(a.lane AS text), CAST(a.stop_by AS text)
FROM duetime_actions AS a
WHERE
    a.token IS NULL AND a.id IN ({{ids}})
    {{action_matches}}
ORDER BY a.id DESC
{{skip_locked}}
