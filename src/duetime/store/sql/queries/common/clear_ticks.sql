-- Delete every stored tick.
DELETE FROM duetime_ticks
