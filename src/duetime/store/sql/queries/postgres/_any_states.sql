SELECT CAST(value AS text) FROM json_array_elements_text(:any_states)
