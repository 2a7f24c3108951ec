"""Texts of the page on which actions are scheduled."""

from __future__ import annotations

from duetime.admin.pages.texts.text import Text, Texts

SCHEDULE_TEXTS: Texts = {
    "schedule": Text("Schedule", "Planifier"),
    "schedule_kind": Text("Kind", "Type d'action"),
    "schedule_choose": Text("Choose", "Choisir"),
    "schedule_kind_missing": Text("choose a kind first", "choisissez d'abord un type"),
    "schedule_kind_hint": Text(
        "The kinds of payloads that this process knows.",
        "Les types de données que ce processus connaît.",
    ),
    "schedule_none": Text("No kind can be scheduled", "Aucun type ne peut être planifié"),
    "schedule_none_hint": Text(
        "A kind appears here as soon as this process has a handler for it:",
        "Un type apparaît ici dès que ce processus a du code pour lui :",
    ),
    "schedule_payload": Text("Payload", "Données"),
    "schedule_when": Text("When", "Quand"),
    "schedule_how": Text("How", "Comment"),
    "schedule_at": Text("At", "À"),
    "schedule_at_hint": Text("In {zone}. Empty: now.", "En {zone}. Vide : maintenant."),
    "schedule_delay": Text("Delay", "Délai"),
    "schedule_delay_hint": Text(
        "In seconds, instead of an instant.", "En secondes, au lieu d'un instant."
    ),
    "schedule_delay_invalid": Text(
        "give a number of seconds, 0 or more", "donnez un nombre de secondes, 0 ou plus"
    ),
    "schedule_either": Text(
        "Give an instant or a delay, not both.", "Donnez un instant ou un délai, pas les deux."
    ),
    "schedule_due_at": Text("Due at {at}", "Échéance : {at}"),
    "schedule_expires_hint": Text(
        "In {zone}. After it, no run starts. Empty: never.",
        "En {zone}. Ensuite, plus aucune exécution ne démarre. Vide : jamais.",
    ),
    "schedule_key_hint": Text(
        "Unique among the unfinished actions of this kind.",
        "Unique parmi les actions non terminées de ce type.",
    ),
    "schedule_key_taken": Text(
        "An unfinished action holds this key: choose below what to do then.",
        "Une action non terminée détient cette clé : choisissez ci-dessous quoi faire alors.",
    ),
    "schedule_if_exists": Text("If the key is taken", "Si la clé est prise"),
    "if_exists_raise": Text("refuse", "refuser"),
    "if_exists_return": Text("show that action", "montrer cette action"),
    "if_exists_replace": Text("replace that action", "remplacer cette action"),
    "schedule_repeats": Text("Repeats", "Répète"),
    "schedule_repeats_hint": Text(
        "Queue, priority and correlation id are those of the finished action.",
        "File, priorité et id de corrélation sont ceux de l'action terminée.",
    ),
    "schedule_payload_hidden": Text(
        "The payload is not filled in: to see it needs the permission payload.read.",
        "Les données ne sont pas préremplies : les voir exige la permission payload.read.",
    ),
    "schedule_wrong": Text(
        "Not scheduled: correct the fields marked below.",
        "Pas planifiée : corrigez les champs marqués ci-dessous.",
    ),
    "done_schedule": Text("Scheduled: due at {at}.", "Planifiée : échéance {at}."),
    "done_schedule_existing": Text(
        "Nothing new was scheduled: this action holds the key.",
        "Rien de nouveau n'a été planifié : cette action détient la clé.",
    ),
    "repeat_in_form": Text(
        "Change its payload in a form", "Modifier ses données dans un formulaire"
    ),
    # -- the fields of a payload --
    "payload_none": Text("It has no fields.", "Il n'a pas de champs."),
    "payload_optional": Text("Optional.", "Facultatif."),
    "payload_yes": Text("yes", "oui"),
    "payload_no": Text("no", "non"),
    "payload_null": Text("none", "aucun"),
    "payload_lines_hint": Text("One on each line.", "Un par ligne."),
    "payload_json_hint": Text("As JSON.", "En JSON."),
    "payload_missing": Text("Fill it in.", "Remplissez ce champ."),
    "payload_integer": Text("Give a whole number.", "Donnez un nombre entier."),
    "payload_number": Text("Give a number.", "Donnez un nombre."),
    "payload_date": Text("Give a date.", "Donnez une date."),
    "payload_instant": Text("Give a date and a time.", "Donnez une date et une heure."),
    "payload_json": Text("This is not valid JSON.", "Ce n'est pas du JSON valide."),
    "payload_refused": Text("This is not valid.", "Ce n'est pas valide."),
}
