CAST(substring(a.record FROM '"paused_until": ?(-?[0-9]{1,18})') AS bigint)
