-- Wipe the data of finished actions, which this transaction has locked. Index: primary key of
-- history.
UPDATE duetime_history
SET
    payload = 'null', result = NULL, error = NULL, error_group = NULL, progress = NULL, trace = NULL
WHERE id IN ({{ids}})
