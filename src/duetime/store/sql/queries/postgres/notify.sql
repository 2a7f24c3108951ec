-- Tell listeners in other processes.
SELECT pg_notify(:channel, :message)
