-- Payloads by rowid.
SELECT rowid, payload FROM duetime_actions WHERE rowid IN (SELECT value FROM json_each(:places))
