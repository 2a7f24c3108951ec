SELECT CAST(x.id AS text), x.fits, x.place, x.sorted_by, 0
FROM (
    SELECT
        a.id,
        a.tenant,
        a.due_at AS sorted_by,
        row_number() OVER (
            ORDER BY
                a.tenant DESC, -- if :tenant_down
                a.tenant, -- if :tenant_up
                a.id DESC -- if :descending
                a.id -- unless :descending
        ) AS place,
        CASE
            WHEN
                true
                {{action_matches}}
                THEN 1
            ELSE 0
        END AS fits
    FROM ({{actions_window}}) AS a
) AS x
WHERE
    (x.fits = 1 OR x.place = :window)
    AND x.sorted_by IS NOT NULL -- if :timed
    AND (x.sorted_by, x.id) < (:instant_below, :row_below) -- if :instant_below
    AND (x.sorted_by, x.id) > (:instant_above, :row_above) -- if :instant_above
ORDER BY
    x.sorted_by DESC, -- if :time_down
    x.sorted_by, -- if :time_up
    x.tenant DESC, -- if :tenant_down
    x.tenant, -- if :tenant_up
    x.id DESC -- if :descending
    x.id -- unless :descending
LIMIT :limit
