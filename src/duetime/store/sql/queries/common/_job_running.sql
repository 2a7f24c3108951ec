EXISTS (SELECT 1 FROM duetime_actions AS r WHERE r.job = a.name AND r.token IS NOT NULL)
