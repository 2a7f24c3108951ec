-- The columns of a table: name, declared type, and whether it must have a value.
SELECT c.name, c.type, c."notnull" FROM pragma_table_info(:table) AS c ORDER BY c.cid
