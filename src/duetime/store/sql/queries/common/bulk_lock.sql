-- A bulk of this scope, locked until commit. Index: primary key of bulks.
SELECT
    b.verb, b."by", b.note, b.selection, CAST(b.due_at AS bigint), CAST(b.shift AS bigint),
    CAST(b.front AS text), CAST(b.ended AS integer), b.answers
FROM duetime_bulks AS b
WHERE b.id = :id AND b.scope = :scope
{{for_update}}
