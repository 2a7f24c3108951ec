SELECT {{action_columns}}
FROM duetime_actions AS a
WHERE
    a.id IS NOT NULL
    {{action_matches}}
    AND a.id < :before -- if :before
ORDER BY a.id DESC
LIMIT :limit
