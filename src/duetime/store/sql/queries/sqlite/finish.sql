-- They are no longer unfinished; and whether children wait for them. Indexes: primary key of
-- actions, actions_after.
DELETE FROM duetime_actions
WHERE
    (id, token) IN (SELECT e.ending_id, e.ending_token FROM {{endings}})
    AND lease_until <= :now -- if :rescuing
RETURNING
    id,
    EXISTS (
        SELECT 1 FROM duetime_actions AS c
        WHERE c.due_at IS NULL AND c.after = duetime_actions.id
    )
