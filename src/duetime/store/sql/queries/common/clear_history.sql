-- Delete every finished action.
DELETE FROM duetime_history
