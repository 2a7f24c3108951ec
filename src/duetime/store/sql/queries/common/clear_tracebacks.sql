-- Delete every traceback.
DELETE FROM duetime_tracebacks
