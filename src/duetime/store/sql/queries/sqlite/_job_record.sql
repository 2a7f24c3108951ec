(CASE WHEN json_valid(a.record) THEN a.record END)
