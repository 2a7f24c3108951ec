(a.record ~ '"paused_at": ?[0-9-]' AND coalesce({{job_paused_until}} > :now, true))
