SELECT CAST(x.id AS text), x.fits, x.place, x.sorted_by, 1
FROM (
    SELECT
        h.id,
        h.tenant,
        h.kind,
        h.finished_at AS sorted_by,
        row_number() OVER (
            ORDER BY
                h.tenant DESC, -- if :tenant_down
                h.tenant, -- if :tenant_up
                h.kind DESC, -- if :kind_down
                h.kind, -- if :kind_up
                h.id DESC -- if :descending
                h.id -- unless :descending
        ) AS place,
        CASE
            WHEN
                true
                {{history_matches}}
                THEN 1
            ELSE 0
        END AS fits
    FROM ({{history_window}}) AS h
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
    x.kind DESC, -- if :kind_down
    x.kind, -- if :kind_up
    x.id DESC -- if :descending
    x.id -- unless :descending
LIMIT :limit
