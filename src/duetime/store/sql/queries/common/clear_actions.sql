-- Delete every unfinished action.
DELETE FROM duetime_actions
