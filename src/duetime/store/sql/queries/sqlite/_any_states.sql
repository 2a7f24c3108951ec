SELECT value FROM json_each(:any_states)
