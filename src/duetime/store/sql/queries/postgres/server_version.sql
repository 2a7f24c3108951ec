-- The server's version as one number.
SELECT CAST(current_setting('server_version_num') AS integer)
