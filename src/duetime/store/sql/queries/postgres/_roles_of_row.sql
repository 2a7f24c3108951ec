SELECT json_array_elements_text(CAST(x.roles AS json))
