-- Extend leases whose token is still stored. Index: primary key of actions.
UPDATE duetime_actions
SET lease_until = :now + :lease
WHERE (id, token) IN (
    SELECT value ->> 'held_id', value ->> 'held_token' FROM json_each(:leases)
)
RETURNING id, stop_by
