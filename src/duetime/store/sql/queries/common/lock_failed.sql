-- All failed actions that match, locked until commit. Indexes: as find_finished.
SELECT {{history_columns}}, :now, NULL, NULL
FROM duetime_history AS h
WHERE
    h.state = 'failed'
    {{history_matches}}
ORDER BY h.id DESC
{{for_update}}
