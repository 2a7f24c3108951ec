-- Mark a transaction: the first setting ends with it, the second stays if, and only if, it commits.
-- Index: none.
SELECT
    set_config('duetime.transaction', :mark, true),
    set_config('duetime.committed', :mark, false)
