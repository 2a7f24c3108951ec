SELECT value FROM json_each(:apart)
