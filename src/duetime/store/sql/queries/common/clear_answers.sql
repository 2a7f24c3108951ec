-- Delete the answers of requests.
DELETE FROM duetime_answers
