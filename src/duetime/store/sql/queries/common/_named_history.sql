-- The ids of finished actions that have one of these values, each by its index.
SELECT i.id FROM duetime_history AS i WHERE false -- if :history_named
UNION ALL SELECT i.id FROM duetime_history AS i -- if :history_correlation
WHERE i.correlation_id = :history_correlation -- if :history_correlation
UNION ALL SELECT i.id FROM duetime_history AS i -- if :history_key
WHERE i.key = :history_key -- if :history_key
UNION ALL SELECT i.id FROM duetime_history AS i -- if :history_job
WHERE i.job = :history_job -- if :history_job
UNION ALL SELECT i.id FROM duetime_history AS i -- if :history_parent
WHERE i.after = :history_parent -- if :history_parent
UNION ALL SELECT i.id FROM duetime_history AS i -- if :history_tenant
WHERE i.tenant = :history_tenant -- if :history_tenant
UNION ALL SELECT i.id FROM duetime_history AS i -- if :history_id_from
WHERE i.id BETWEEN :history_id_from AND :history_id_to -- if :history_id_from
UNION ALL SELECT i.id FROM duetime_history AS i -- if :history_group
WHERE i.error_group = :history_group -- if :history_group
