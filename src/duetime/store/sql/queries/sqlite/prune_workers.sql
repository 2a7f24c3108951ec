-- Delete workers that were not seen for long.
DELETE FROM duetime_workers
WHERE seen_at < :now - :keep_worker
