SELECT CAST(value AS text) AS value FROM json_array_elements_text(:range_states)
