-- The lane of an unfinished action. A transaction locks the whole database, not a row.
-- Index: primary key.
SELECT :now, a.lane, FALSE
FROM duetime_actions AS a
WHERE a.id = :id
