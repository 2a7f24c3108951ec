-- Delete completed actions that were copied to history. Index: primary key of actions.
DELETE FROM duetime_actions
WHERE
    (id, token) IN (SELECT e.ending_id, e.ending_token FROM {{fence_rows}})
    AND lease_until <= :now -- if :rescuing
RETURNING id -- if :some
