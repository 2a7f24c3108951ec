SELECT CAST(a.id AS text), CAST(a.tenant AS text), 0
FROM duetime_actions AS a
WHERE
    a.key IS NOT NULL
    AND coalesce(a.tenant, '') = :slot -- if :slot
    {{action_matches}}
LIMIT 2
