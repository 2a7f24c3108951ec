-- How many actions have such a value, up to :window of each table. Indexes: as `find_ids`.
SELECT
    0 -- unless :actions_named
    (SELECT count(*) FROM (SELECT n.id FROM ( -- if :actions_named
    {{named_actions}}
    ) AS n LIMIT :window) AS counted_actions) -- if :actions_named
    , 0 -- unless :history_named
    , (SELECT count(*) FROM (SELECT n.id FROM ( -- if :history_named
    {{named_history}}
    ) AS n LIMIT :window) AS counted_history) -- if :history_named
