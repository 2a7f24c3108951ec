-- The filter of figures: see model.health.figures.FigureFilter. An empty tenant is none; an empty
-- kind stands for what no worker could keep apart, of all tenants.
    f.minute >= :since AND f.minute < :until
    AND f.outcome = :outcome -- if :outcome
    AND f.tenant = :tenant -- if :tenant
    AND f.tenant = '' -- if :untenanted
    AND f.kind <> '' -- if :apart
