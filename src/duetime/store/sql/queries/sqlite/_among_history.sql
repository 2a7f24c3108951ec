-- Only rows with these ids: found one by one, whatever the planner expects.
AND w.id IN ( -- if :history_named
{{named_history}}
) -- if :history_named
