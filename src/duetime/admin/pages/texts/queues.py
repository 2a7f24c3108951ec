"""Texts of the page about queues."""

from __future__ import annotations

from duetime.admin.pages.texts.text import Text, Texts

QUEUE_TEXTS: Texts = {
    "queue": Text("Queue", "File"),
    "queues_none": Text("No queue has anything to do", "Aucune file n'a rien à faire"),
    "queues_none_hint": Text(
        "A queue appears here as soon as an action waits in it, or a worker names it:",
        "Une file apparaît ici dès qu'une action y attend, ou qu'un worker la nomme :",
    ),
    "queue_state": Text("State", "État"),
    "queue_open": Text("open", "ouverte"),
    "queue_paused": Text("paused", "en pause"),
    "queue_scheduled": Text("Scheduled", "Planifiées"),
    "queue_running": Text("Running", "En cours"),
    "queue_overdue": Text("Overdue", "En retard"),
    "queue_oldest": Text("Oldest", "La plus ancienne"),
    "queue_acts": Text("Acts", "Actes"),
    "queue_paused_by": Text("by {user}", "par {user}"),
    "queue_paused_until": Text("until", "jusqu'à"),
    "queue_paused_open": Text("until it is resumed", "jusqu'à la reprise"),
    "pause": Text("Pause", "Mettre en pause"),
    "resume": Text("Resume", "Reprendre"),
    "pause_queue": Text("Pause the queue “{name}”", "Mettre en pause la file « {name} »"),
    "pause_queue_hint": Text(
        "Nothing more of it starts, in any worker. What runs goes on; ticks and retries arrive "
        "and wait.",
        "Plus rien n'y démarre, dans aucun worker. Ce qui s'exécute continue ; les échéances et "
        "les reprises arrivent et attendent.",
    ),
    "done_pause_queue": Text("The queue “{name}” is paused.", "La file « {name} » est en pause."),
    "done_resume_queue": Text(
        "Workers claim from the queue “{name}” again.",
        "Les workers puisent de nouveau dans la file « {name} ».",
    ),
    "not_paused_queue": Text(
        "The queue “{name}” was not paused.", "La file « {name} » n'était pas en pause."
    ),
}
