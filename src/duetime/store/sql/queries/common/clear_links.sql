-- Delete every one-time link.
DELETE FROM duetime_links
