-- The ids of scheduled actions that a bulk is about, newest first. Indexes: as find_unfinished.
{{bulk_scheduled}}
