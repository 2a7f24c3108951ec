-- The mark of the last transaction of this session that had one and was committed. Index: none.
SELECT current_setting('duetime.committed', true)
