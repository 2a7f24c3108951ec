-- Delete all figures.
DELETE FROM duetime_figures
