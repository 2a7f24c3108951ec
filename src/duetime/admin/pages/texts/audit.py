"""Texts of the page about the audit log."""

from __future__ import annotations

from duetime.admin.pages.texts.text import Text, Texts

AUDIT_TEXTS: Texts = {
    "audit_at": Text("When", "Quand"),
    "audit_by": Text("Who", "Qui"),
    "audit_source": Text("Source", "Source"),
    "audit_verb": Text("Act", "Acte"),
    "audit_subject": Text("Subject", "Objet"),
    "audit_subject_hint": Text(
        "An action's id, or the name of a job or a queue.",
        "L'id d'une action, ou le nom d'une tâche ou d'une file.",
    ),
    "audit_details": Text("Details", "Détails"),
    "audit_changed": Text("Before and after", "Avant et après"),
    "audit_before": Text("Before", "Avant"),
    "audit_after": Text("After", "Après"),
    "audit_since": Text("Since", "Depuis"),
    "audit_any_verb": Text("any", "tous"),
    "audit_address": Text("Address", "Adresse"),
    "audit_export": Text("Export", "Exporter"),
    "audit_export_hint": Text(
        "The newest 10,000 entries of this filter, as lines of JSON.",
        "Les 10 000 entrées les plus récentes de ce filtre, en lignes de JSON.",
    ),
    "audit_none": Text("No entry matches", "Aucune entrée ne correspond"),
    "audit_none_hint": Text(
        "An entry appears here for whatever is changed on these pages, over HTTP or by a command, "
        "and in code with a note:",
        "Une entrée apparaît ici pour tout changement fait sur ces pages, par HTTP ou par une "
        "commande, et dans le code avec une note :",
    ),
}
