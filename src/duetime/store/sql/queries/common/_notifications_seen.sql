n.in_app = 1
AND n.due_at <= :now
AND n.everywhere = 0 AND n.tenant = :tenant -- if :tenant
AND n.everywhere = 0 AND n.tenant IS NULL -- if :untenanted
