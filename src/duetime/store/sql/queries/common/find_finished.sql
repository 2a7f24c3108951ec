-- Finished actions that match. Indexes: primary key, state, kind, correlation.
{{find_finished}}
