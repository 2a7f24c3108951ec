SELECT CAST(a.id AS text)
FROM duetime_actions AS a
WHERE
    a.token IS NULL
    AND a.id IN ({{ids}}) -- if :ids
    {{action_matches}}
    AND a.id < :before -- if :before
ORDER BY a.id DESC
LIMIT :limit
