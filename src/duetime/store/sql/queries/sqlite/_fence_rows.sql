(SELECT :rows_id AS ending_id, :rows_token AS ending_token FROM json_each(:rows)) AS e
