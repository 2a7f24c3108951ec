-- Lanes with their next due time. Index: actions_due.
WITH RECURSIVE {{heads}}
SELECT
    :now,
    (SELECT json_group_array(json_array(h.lane, h.next_due)) FROM heads AS h),
    NULL, 0, NULL, NULL
