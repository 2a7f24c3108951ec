-- Lock the notifier's row, after whoever has it. Index: primary key of notifier.
SELECT a.version
FROM duetime_notifier AS a
WHERE a.id = 1
{{for_update}}
