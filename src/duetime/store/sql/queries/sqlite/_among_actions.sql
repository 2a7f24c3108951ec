-- Only rows with these ids: found one by one, whatever the planner expects.
AND w.id IN ( -- if :actions_named
{{named_actions}}
) -- if :actions_named
