-- The first :window rows in an order that an index has: of ids, perhaps within a value that all of
-- them share. Ranges of that value in place of an equality leave the planner no other index.
SELECT w.* FROM duetime_history AS w
WHERE
    w.id IS NOT NULL
    {{among_history}}
    AND w.id < :below -- if :below
    AND w.id > :above -- if :above
    AND w.tenant >= :tenant_from -- if :tenant_from
    AND w.tenant <= :tenant_to -- if :tenant_to
    AND (w.tenant, w.id) < (:tenant_below, :row_below) -- if :tenant_below
    AND (w.tenant, w.id) > (:tenant_above, :row_above) -- if :tenant_above
    AND w.kind >= :kind_from -- if :kind_from
    AND w.kind <= :kind_to -- if :kind_to
    AND (w.kind, w.id) < (:kind_below, :row_below) -- if :kind_below
    AND (w.kind, w.id) > (:kind_above, :row_above) -- if :kind_above
    AND w.state = 'failed' -- if :failed_only
ORDER BY
    w.tenant DESC, -- if :tenant_down
    w.tenant, -- if :tenant_up
    w.kind DESC, -- if :kind_down
    w.kind, -- if :kind_up
    w.id DESC -- if :descending
    w.id -- unless :descending
LIMIT :window
