-- All scheduled actions that match, locked until commit. Indexes: as find_unfinished.
SELECT {{action_columns}}, :now, CAST(a.lane AS text), CAST(a.stop_by AS text)
FROM duetime_actions AS a
WHERE
    a.token IS NULL
    {{action_matches}}
ORDER BY a.id DESC
{{for_update}}
