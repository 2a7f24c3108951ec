-- Lanes with their next due time. Index: actions_due.
WITH RECURSIVE {{heads}}
SELECT
    :now,
    CAST((SELECT json_agg(json_build_array(h.lane, h.next_due)) FROM heads AS h) AS text),
    NULL, 0, NULL, NULL
