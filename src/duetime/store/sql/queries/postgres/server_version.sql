-- The server's version as a number.
SELECT CAST(current_setting('server_version_num') AS integer)
