SELECT {{history_columns}}
FROM duetime_history AS h
WHERE
    h.id IS NOT NULL
    {{history_matches}}
    AND h.id < :before -- if :before
ORDER BY h.id DESC
LIMIT :limit
