-- Delete one-time links that have expired. Index: none; there are few.
DELETE FROM duetime_links
WHERE expires_at <= :now
