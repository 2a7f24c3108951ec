-- Delete the oldest ticks. Index: ticks_tick.
DELETE FROM duetime_ticks
WHERE (job, tick) IN (
    SELECT o.job, o.tick
    FROM duetime_ticks AS o
    WHERE o.tick < :now - max(:keep, :keep_failed)
    ORDER BY o.tick
    LIMIT :limit
)
