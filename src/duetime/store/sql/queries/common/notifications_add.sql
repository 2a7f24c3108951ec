-- Insert notifications. Index: notifications_slot.
INSERT INTO duetime_notifications (
    id, subscription_id, minute, part, tenant, everywhere, in_app, due_at, record
)
SELECT
    n.id, n.subscription_id, n.minute, n.part, n.tenant, n.everywhere, n.in_app, n.due_at, n.record
FROM {{notification_rows}}
