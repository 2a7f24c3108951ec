coalesce(CAST(substring(a.record FROM '"consecutive_failures": ?([0-9]{1,9})') AS bigint), 0)
