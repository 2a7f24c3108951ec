json_to_recordset(:rows) AS n (action_id uuid, run_id uuid, traceback text)
