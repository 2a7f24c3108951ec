-- Scheduled actions whose data is to be erased, locked until commit; skips rows that other
-- transactions have locked. Indexes: as find_unfinished.
SELECT {{action_columns}}, :now, CAST(a.lane AS text), CAST(a.stop_by AS text)
FROM duetime_actions AS a
WHERE
    a.token IS NULL
    {{action_matches}}
ORDER BY a.id DESC
LIMIT :limit
{{skip_locked}}
