-- The ids of failed actions that a bulk is about, newest first. Indexes: as find_finished.
{{bulk_failed}}
