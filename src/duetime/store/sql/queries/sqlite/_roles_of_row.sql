SELECT value FROM json_each(x.roles)
