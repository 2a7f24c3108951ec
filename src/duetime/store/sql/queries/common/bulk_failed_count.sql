-- How many failed actions a bulk is about, up to a limit. Indexes: as find_finished.
SELECT count(*) FROM ({{bulk_failed}}) AS found
