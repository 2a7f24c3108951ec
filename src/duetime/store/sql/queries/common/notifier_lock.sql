-- Lock the notifier's row, unless another gathering has. Index: primary key of notifier.
SELECT a.version
FROM duetime_notifier AS a
WHERE a.id = 1
{{skip_locked}}
