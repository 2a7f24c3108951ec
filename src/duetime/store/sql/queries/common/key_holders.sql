-- The actions that are stored under these ids, or hold these keys. Indexes: primary keys,
-- actions_key.
SELECT {{action_columns}}
FROM {{new_rows}}
INNER JOIN duetime_actions AS a ON a.id = n.id
UNION ALL
SELECT {{history_columns}}
FROM {{new_rows}}
INNER JOIN duetime_history AS h ON h.id = n.id
UNION ALL
SELECT {{action_columns}}
FROM {{new_rows}}
INNER JOIN duetime_actions AS a
    ON coalesce(a.tenant, '') = coalesce(n.tenant, '') AND a.kind = n.kind AND a.key = n.key
WHERE a.id <> n.id
