-- An action, finished or not, in one snapshot. Indexes: primary keys.
SELECT {{action_columns}}
FROM duetime_actions AS a
WHERE
    a.id = :id
    AND a.tenant = :tenant -- if :tenant
    AND a.tenant IS NULL -- if :untenanted
UNION ALL
SELECT {{history_columns}}
FROM duetime_history AS h
WHERE
    h.id = :id
    AND h.tenant = :tenant -- if :tenant
    AND h.tenant IS NULL -- if :untenanted
