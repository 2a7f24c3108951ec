SELECT max(CAST(h.id AS text)), CAST(h.tenant AS text), 1
FROM duetime_history AS h
WHERE
    h.key IS NOT NULL
    {{history_matches}}
GROUP BY h.tenant
ORDER BY 1 DESC
LIMIT 2
