(a.record ~ '"failing_since": ?[0-9-]')
