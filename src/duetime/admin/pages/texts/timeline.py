"""Texts of the page of the timeline."""

from __future__ import annotations

from duetime.admin.pages.texts.text import Text, Texts

TIMELINE_TEXTS: Texts = {
    "timeline_zoom": Text("Time shown", "Période affichée"),
    "timeline_earlier": Text("Earlier", "Plus tôt"),
    "timeline_later": Text("Later", "Plus tard"),
    "timeline_closer": Text("Zoom in", "Zoomer"),
    "timeline_wider": Text("Zoom out", "Dézoomer"),
    "timeline_usual": Text("Around now", "Autour de maintenant"),
    "timeline_start": Text("From", "Du"),
    "timeline_end": Text("To", "Au"),
    "timeline_show": Text("Show", "Afficher"),
    "timeline_keys": Text(
        "Drag over a time to zoom into it. On the chart: + and - zoom, ← and → move, 0 goes back.",
        "Glissez sur une période pour y zoomer. Sur le graphique : + et - zooment, ← et → "
        "déplacent, 0 revient.",
    ),
    "timeline_shown": Text("What is there", "Ce qui s'y trouve"),
    "timeline_length": Text(
        "show a minute at least, and {days} days at most",
        "affichez au moins une minute, et au plus {days} jours",
    ),
    "timeline_capped": Text(
        "There is more than is drawn: zoom in to see all of it.",
        "Il y a plus que ce qui est affiché : zoomez pour tout voir.",
    ),
    "timeline_ran_since": Text(
        "Runs are drawn since {at}.", "Les exécutions sont tracées depuis {at}."
    ),
    "timeline_ran": Text("Runs", "Exécutions"),
    "timeline_scheduled": Text("Scheduled and running", "Planifiées et en cours"),
    "timeline_ticks": Text("Coming ticks", "Échéances à venir"),
    "timeline_time": Text("Time", "Heure"),
    "timeline_kind": Text("Kind", "Type"),
    "timeline_state": Text("State", "État"),
    "timeline_took": Text("Run time", "Durée"),
    "timeline_queue": Text("Queue", "File"),
    "timeline_job": Text("Job", "Tâche"),
    "timeline_first": Text("The first {n} of {total}", "Les {n} premières sur {total}"),
    "timeline_none": Text("Nothing in this time", "Rien dans cette période"),
    "timeline_none_hint": Text(
        "What runs, is scheduled or recurs appears here:",
        "Ce qui s'exécute, est planifié ou se répète apparaît ici :",
    ),
}
