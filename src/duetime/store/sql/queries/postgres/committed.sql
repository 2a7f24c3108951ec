-- The mark of this session's last committed transaction that had one. Index: none.
SELECT current_setting('duetime.committed', true)
