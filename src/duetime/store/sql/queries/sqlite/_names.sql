SELECT value FROM json_each(:names)
