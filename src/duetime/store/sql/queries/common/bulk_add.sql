-- Store a new bulk, unless another call has just done so. Index: primary key of bulks.
INSERT INTO duetime_bulks (
    id, taken_at, due_at, shift, ended, verb, scope, "by", note, selection, answers
)
VALUES (
    :id, :now, :due_at, :shift, 0, :verb, :scope, :by, :note, :selection, ''
)
ON CONFLICT DO NOTHING
RETURNING CAST(taken_at AS bigint)
