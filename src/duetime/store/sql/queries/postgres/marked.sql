-- The mark of this transaction, if it has one. Index: none.
SELECT current_setting('duetime.transaction', true)
