SELECT CAST(h.id AS text)
FROM duetime_history AS h
WHERE
    h.state = 'failed'
    AND h.id IN ({{ids}}) -- if :ids
    {{history_matches}}
    AND h.id < :before -- if :before
ORDER BY h.id DESC
LIMIT :limit
