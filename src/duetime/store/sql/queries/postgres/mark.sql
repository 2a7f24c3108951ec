-- Marks a transaction: one mark ends with it, the other stays if it is committed, and only then.
-- Index: none.
SELECT
    set_config('duetime.transaction', :mark, true),
    set_config('duetime.committed', :mark, false)
