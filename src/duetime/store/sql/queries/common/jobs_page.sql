-- A page of jobs. Index: primary key of jobs; another order than that of names has none, as there
-- are few jobs. The fragments read the text in which a job is stored.
SELECT
    CAST(a.record AS text), -- unless :without_data
    '', -- if :without_data
    :now, CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE
    a.name IS NOT NULL
    AND a.name > :beyond_name -- if :beyond_name
    AND a.name < :before_name -- if :before_name
    AND (coalesce(:due_sign * a.next_due_at, 4611686018427387904), a.name) -- if :follows_due
    > (:follows_key, :follows_name) -- if :follows_due
    AND (:failures_sign * {{job_failures}}, a.name) -- if :follows_failures
    > (:follows_key, :follows_name) -- if :follows_failures
    AND a.name = :job_name -- if :job_name
    AND a.removed_at IS NULL -- if :kept
    AND a.tenant = :tenant -- if :tenant
    AND a.tenant IS NULL -- if :untenanted
    AND a.declared = 1 -- if :declared
    AND a.declared = 0 -- if :undeclared
    AND a.next_due_at < :due_before -- if :due_before
    AND replace(a.name, :search, '') <> a.name -- if :search
    AND a.retired_at IS NOT NULL -- if :retired
    AND a.retired_at IS NULL -- if :unretired
    AND {{job_paused}} -- if :paused
    AND NOT {{job_paused}} -- if :unpaused
    AND {{job_failing}} -- if :failing
    AND NOT {{job_failing}} -- if :unfailing
    AND {{job_kind}} = :kind -- if :kind
    AND {{job_queue}} = :queue -- if :queue
    AND {{job_running}} -- if :running
    AND NOT {{job_running}} -- if :idle
ORDER BY
    coalesce(:due_sign * a.next_due_at, 4611686018427387904), -- if :due_sign
    :failures_sign * {{job_failures}}, -- if :failures_sign
    a.name DESC -- if :names_back
    a.name -- unless :names_back
LIMIT :limit
