"""Texts of notifications and of subscriptions to them."""

from __future__ import annotations

from duetime.admin.pages.texts.text import Text, Texts

ALERT_TEXTS: Texts = {
    # -- notifications --
    "unread_number": Text("unread", "non lues"),
    "notifications": Text("Notifications", "Notifications"),
    "notifications_filter": Text("Which notifications", "Quelles notifications"),
    "notifications_all": Text("All", "Toutes"),
    "notifications_unread": Text("Unread", "Non lues"),
    "notifications_changed": Text(
        "Notifications have changed: show them", "Les notifications ont changé : les afficher"
    ),
    "notification_severity": Text("Severity", "Gravité"),
    "notification_what": Text("What happened", "Ce qui s'est passé"),
    "notification_events": Text("Events", "Événements"),
    "notification_since": Text("Since", "Depuis"),
    "notification_acts": Text("Acts", "Actes"),
    "notification_unread": Text("new", "nouveau"),
    "notification_tenant": Text("tenant {tenant}", "locataire {tenant}"),
    "notification_lines": Text("Details", "Détails"),
    "notification_more": Text("and {n} more", "et {n} de plus"),
    "notifications_none": Text("No notifications yet", "Aucune notification pour l'instant"),
    "notifications_none_hint": Text(
        "They appear here once somebody has subscribed to them, by code or on this page:",
        "Elles apparaissent ici dès que quelqu'un s'y abonne, par le code ou sur cette page :",
    ),
    "notifications_read": Text("You have read them all", "Vous les avez toutes lues"),
    "read": Text("Mark as read", "Marquer comme lue"),
    "read_all": Text("Mark all as read", "Tout marquer comme lu"),
    "done_read": Text("The notification is marked as read.", "La notification est lue."),
    "done_read_all": Text(
        "All notifications are marked as read.", "Toutes les notifications sont lues."
    ),
    # -- topics --
    "topic_job_failing": Text("A job is failing", "Une tâche échoue"),
    "topic_job_recovered": Text("A job has recovered", "Une tâche réussit de nouveau"),
    "topic_job_paused": Text("A job was paused", "Une tâche a été mise en pause"),
    "topic_job_resumed": Text("A job was resumed", "Une tâche a repris"),
    "topic_action_failed": Text("An action failed", "Une action a échoué"),
    "topic_action_lost": Text(
        "The worker of an action vanished", "Le worker d'une action a disparu"
    ),
    "topic_transition_parked": Text(
        "A row could not be changed", "Une ligne n'a pas pu être modifiée"
    ),
    "topic_overdue": Text("Work is overdue", "Du travail est en retard"),
    "topic_no_worker": Text("No worker is alive", "Aucun worker n'est actif"),
    "topic_worker_lost": Text("A worker disappeared", "Un worker a disparu"),
    # -- subscriptions --
    "subscriptions": Text("Subscriptions", "Abonnements"),
    "subscriptions_none": Text("Nobody has subscribed", "Personne n'est abonné"),
    "subscriptions_none_hint": Text(
        "Subscribe on this page, or in code:", "Abonnez-vous sur cette page, ou dans le code :"
    ),
    "subscription_to": Text("To", "Destinataire"),
    "subscription_topics": Text("Topics", "Sujets"),
    "subscription_all_topics": Text("All topics", "Tous les sujets"),
    "subscription_how": Text("How", "Comment"),
    "subscription_state": Text("State", "État"),
    "subscription_acts": Text("Acts", "Actes"),
    "subscription_active": Text("active", "actif"),
    "subscription_unconfirmed": Text("unconfirmed", "non confirmé"),
    "subscription_muted": Text("muted", "en sourdine"),
    "subscription_ended": Text("ended", "terminé"),
    "subscription_until": Text("until", "jusqu'à"),
    "subscription_of_code": Text("in the code of {app}", "dans le code de {app}"),
    "subscription_everywhere": Text("all tenants", "tous les locataires"),
    "subscription_untenanted": Text("no tenant", "sans locataire"),
    "subscription_from": Text("Severity from {severity} on", "Gravité à partir de : {severity}"),
    "subscription_quiet_at": Text("Quiet {times} {zone}", "Silence {times} {zone}"),
    "subscription_shows_errors": Text("with texts of errors", "avec le texte des erreurs"),
    "subscription_jobs": Text("Jobs", "Tâches"),
    "subscription_kinds": Text("Kinds", "Types"),
    "subscription_queues": Text("Queues", "Files"),
    "channel_email": Text("E-mail", "E-mail"),
    "channel_webhook": Text("Webhook", "Webhook"),
    "channel_in_app": Text("In this dashboard", "Dans ce tableau de bord"),
    # -- their form --
    "subscribe": Text("Subscribe", "S'abonner"),
    "subscribe_hint": Text(
        "A subscription gets at most two messages a minute, which say how much happened.",
        "Un abonnement reçoit au plus deux messages par minute, qui disent combien il s'est passé.",
    ),
    "subscription_channel": Text("Channel", "Canal"),
    "subscription_channel_hint": Text(
        "E-mail and webhooks need Duetime(notifications=Notifications(...)).",
        "Les e-mails et webhooks demandent Duetime(notifications=Notifications(...)).",
    ),
    "subscription_address": Text("Address", "Adresse"),
    "subscription_address_hint": Text(
        "An e-mail address, or the URL of a webhook. Empty for this dashboard.",
        "Une adresse e-mail, ou l'URL d'un webhook. Vide pour ce tableau de bord.",
    ),
    "subscription_tenant_hint": Text("Empty: all tenants.", "Vide : tous les locataires."),
    "subscription_minimum": Text("Lowest severity", "Gravité minimale"),
    "subscription_narrow": Text(
        "Only some jobs, kinds or queues; quiet hours",
        "Certaines tâches, certains types ou files ; heures de silence",
    ),
    "subscription_patterns_hint": Text(
        "Patterns such as billing-*, separated by commas. Empty: all.",
        "Des motifs tels que billing-*, séparés par des virgules. Vide : toutes.",
    ),
    "subscription_quiet_from": Text("Quiet from", "Silence de"),
    "subscription_quiet_until": Text("Quiet until", "Silence jusqu'à"),
    "subscription_quiet_hint": Text(
        "In the time zone above. What is not critical waits.",
        "Dans le fuseau ci-dessus. Ce qui n'est pas critique attend.",
    ),
    "subscription_show_errors": Text(
        "Messages have the texts of errors", "Les messages contiennent le texte des erreurs"
    ),
    "made_subscription": Text(
        "The secret of the webhook {address}", "Le secret du webhook {address}"
    ),
    "made_subscription_hint": Text(
        "It verifies the signatures of its messages. Copy it now: it is not shown again.",
        "Il vérifie les signatures de ses messages. Copiez-le : il ne sera plus affiché.",
    ),
    # -- acts on them --
    "change": Text("Change", "Modifier"),
    "change_subscription": Text("Change “{address}”", "Modifier « {address} »"),
    "change_subscription_hint": Text(
        "Where messages go cannot be changed: make another subscription.",
        "Le destinataire ne peut pas changer : créez un autre abonnement.",
    ),
    "mute": Text("Mute", "Mettre en sourdine"),
    "mute_subscription": Text("Mute “{address}”", "Mettre en sourdine « {address} »"),
    "mute_hint": Text(
        "Until then it gets nothing, and nothing of that time later.",
        "D'ici là il ne reçoit rien, et rien de cette période ensuite.",
    ),
    "unmute": Text("Unmute", "Rétablir le son"),
    "test_subscription": Text("Test", "Tester"),
    "remove_subscription": Text("Remove “{address}”", "Supprimer « {address} »"),
    "remove_subscription_hint": Text(
        "It gets no more messages. What it got stays.",
        "Il ne reçoit plus de messages. Ce qu'il a reçu reste.",
    ),
    "done_subscribe": Text("“{address}” is subscribed.", "« {address} » est abonné."),
    "done_ask_to_confirm": Text(
        "“{address}” gets a link. Messages follow once its owner has opened it and confirmed.",
        "« {address} » reçoit un lien. Les messages suivent dès que son propriétaire a confirmé.",
    ),
    "done_change_subscription": Text(
        "The subscription of “{address}” is changed.", "L'abonnement de « {address} » est modifié."
    ),
    "done_mute": Text("“{address}” is muted.", "« {address} » est en sourdine."),
    "done_unmute": Text(
        "“{address}” gets messages again.", "« {address} » reçoit de nouveau des messages."
    ),
    "done_test_subscription": Text(
        "A message to “{address}” is on its way.", "Un message à « {address} » est en route."
    ),
    "done_remove_subscription": Text(
        "The subscription of “{address}” is removed.",
        "L'abonnement de « {address} » est supprimé.",
    ),
    # -- links of messages --
    "unsubscribe": Text("Unsubscribe", "Se désabonner"),
    "unsubscribe_hint": Text(
        "{address} gets no more messages about:", "{address} ne recevra plus de messages sur :"
    ),
    "unsubscribed": Text(
        "{address} gets no more of these messages.", "{address} ne reçoit plus ces messages."
    ),
    "confirm_hint": Text("{address} gets messages about:", "{address} recevra des messages sur :"),
    "confirmed": Text(
        "{address} is confirmed, and gets messages from now on.",
        "{address} est confirmée, et reçoit désormais des messages.",
    ),
    "message_link_invalid": Text(
        "This link is not valid: open the link of the message as it is.",
        "Ce lien n'est pas valide : ouvrez le lien du message tel quel.",
    ),
}
