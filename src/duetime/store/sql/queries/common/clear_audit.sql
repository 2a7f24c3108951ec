-- Delete every audit entry.
DELETE FROM duetime_audit
