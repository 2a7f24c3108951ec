-- What history has taken is no longer unfinished. Index: primary key of actions.
DELETE FROM duetime_actions
WHERE
    (id, token) IN (SELECT e.ending_id, e.ending_token FROM {{tokens}})
    AND lease_until <= :now -- if :rescuing
RETURNING id -- if :some
