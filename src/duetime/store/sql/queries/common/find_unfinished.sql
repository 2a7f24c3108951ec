-- Scheduled or running actions that match. Indexes: primary key, correlation, key.
{{find_unfinished}}
