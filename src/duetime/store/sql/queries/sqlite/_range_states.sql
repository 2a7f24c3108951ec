SELECT value FROM json_each(:range_states)
