-- How many scheduled actions a bulk is about, up to a limit. Indexes: as find_unfinished.
SELECT count(*) FROM ({{bulk_scheduled}}) AS found
