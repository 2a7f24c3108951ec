-- Unfinished actions among the first :window in the order of ids: those that match, and
-- the last one of them. Indexes: primary key; tenant, kind, failed; those of `_named_actions.sql`.
{{unfinished_ids}}
