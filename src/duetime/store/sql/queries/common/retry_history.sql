-- Delete retried actions from history. Index: primary key of history.
DELETE FROM duetime_history
WHERE state = 'failed' AND id IN ({{ids}})
