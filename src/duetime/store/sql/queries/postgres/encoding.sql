-- The encoding in which this database keeps text.
SELECT current_setting('server_encoding')
