SELECT CAST(value AS uuid) FROM json_array_elements_text(:ids)
