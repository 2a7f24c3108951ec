-- Marks a transaction: the mark ends with it. Index: none.
SELECT set_config('duetime.transaction', :mark, true)
