-- The first :window rows in an order that an index has: of ids, perhaps within a value that all of
-- them share. Ranges of that value in place of an equality leave the planner no other index.
SELECT w.* FROM duetime_actions AS w
WHERE
    w.id IS NOT NULL
    {{among_actions}}
    AND w.id < :below -- if :below
    AND w.id > :above -- if :above
    AND w.tenant >= :tenant_from -- if :tenant_from
    AND w.tenant <= :tenant_to -- if :tenant_to
    AND (w.tenant, w.id) < (:tenant_below, :row_below) -- if :tenant_below
    AND (w.tenant, w.id) > (:tenant_above, :row_above) -- if :tenant_above
ORDER BY
    w.tenant DESC, -- if :tenant_down
    w.tenant, -- if :tenant_up
    w.id DESC -- if :descending
    w.id -- unless :descending
LIMIT :window
