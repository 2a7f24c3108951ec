SELECT value FROM json_array_elements_text(:apart)
