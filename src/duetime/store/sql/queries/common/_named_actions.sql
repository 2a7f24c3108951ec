-- The ids of unfinished actions that have one of these values, each by its index.
SELECT i.id FROM duetime_actions AS i WHERE false -- if :actions_named
UNION ALL SELECT i.id FROM duetime_actions AS i -- if :actions_correlation
WHERE i.correlation_id = :actions_correlation -- if :actions_correlation
UNION ALL SELECT i.id FROM duetime_actions AS i -- if :actions_key
WHERE i.key = :actions_key -- if :actions_key
UNION ALL SELECT i.id FROM duetime_actions AS i -- if :actions_job
WHERE i.job = :actions_job -- if :actions_job
UNION ALL SELECT i.id FROM duetime_actions AS i -- if :actions_parent
WHERE i.after = :actions_parent -- if :actions_parent
UNION ALL SELECT i.id FROM duetime_actions AS i -- if :actions_tenant
WHERE i.tenant = :actions_tenant -- if :actions_tenant
UNION ALL SELECT i.id FROM duetime_actions AS i -- if :actions_id_from
WHERE i.id BETWEEN :actions_id_from AND :actions_id_to -- if :actions_id_from
UNION ALL SELECT i.id FROM duetime_actions AS i -- if :actions_parked
WHERE i.lane >= 'p.' AND i.lane < 'p/' -- if :actions_parked
UNION ALL SELECT i.id FROM duetime_actions AS i -- if :actions_waiting
WHERE i.due_at IS NULL AND i.after IS NOT NULL -- if :actions_waiting
