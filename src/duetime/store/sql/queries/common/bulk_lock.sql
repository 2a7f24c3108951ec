-- A bulk of this scope, locked until commit. Index: primary key of bulks.
SELECT
    b.verb, b."by", b.note, b.selection, b.due_at, b.shift, CAST(b.front AS text), b.ended,
    b.answers
FROM duetime_bulks AS b
WHERE b.id = :id AND b.scope = :scope
{{for_update}}
