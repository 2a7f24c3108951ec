-- Replace the damaged values of an audit entry, unless a constraint refuses the row.
UPDATE OR IGNORE duetime_audit
SET
    id = :row ->> 'id',
    at = :row ->> 'at',
    "by" = :row ->> 'by',
    tenant = :row ->> 'tenant',
    verb = :row ->> 'verb',
    subject = :row ->> 'subject',
    subject_id = :row ->> 'subject_id',
    before = :row ->> 'before',
    after = :row ->> 'after',
    note = :row ->> 'note',
    source = :row ->> 'source',
    address = :row ->> 'address'
WHERE rowid = :rowid
RETURNING rowid
