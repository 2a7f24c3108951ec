"""Texts of the page about row transitions."""

from __future__ import annotations

from duetime.admin.pages.texts.text import Text, Texts

TRANSITION_TEXTS: Texts = {
    "transition_model": Text("Model", "Modèle"),
    "transition_column": Text("Column", "Colonne"),
    "transition_effect": Text("What it does", "Ce qu'elle fait"),
    "transition_due": Text("Due", "À échéance"),
    "transition_next": Text("Next due", "Prochaine échéance"),
    "transition_retrying": Text("Retrying", "En reprise"),
    "transition_parked": Text("Parked", "Mises de côté"),
    "transition_acts": Text("Acts", "Actes"),
    "effect_set_field": Text("sets {field} to {to}", "met {field} à {to}"),
    "effect_soft_delete": Text("deletes softly", "supprime en douceur"),
    "effect_hard_delete": Text("deletes for good", "supprime définitivement"),
    "effect_action": Text("schedules an action", "planifie une action"),
    "effect_if": Text("if it is {value}", "s'il vaut {value}"),
    "effect_clear": Text("empties the column", "vide la colonne"),
    "sweep_now": Text("Sweep now", "Balayer maintenant"),
    "done_sweep": Text(
        "Swept: {updated} changed, {deleted} deleted, {skipped} skipped, {failed} failed.",
        "Balayage : {updated} modifiées, {deleted} supprimées, {skipped} sautées, "
        "{failed} échouées.",
    ),
    "sweep_last": Text("Last report", "Dernier rapport"),
    "sweep_none": Text(
        "No sweep has changed a row or found an error yet.",
        "Aucun balayage n'a encore modifié de ligne ni trouvé d'erreur.",
    ),
    "sweep_at": Text("When", "Quand"),
    "sweep_worker": Text("By", "Par"),
    "sweep_updated": Text("Changed", "Modifiées"),
    "sweep_deleted": Text("Deleted", "Supprimées"),
    "sweep_skipped": Text("Skipped", "Sautées"),
    "sweep_failed": Text("Failed", "Échouées"),
    "sweep_truncated": Text(
        "More rows were due than one batch holds.",
        "Plus de lignes étaient à échéance qu'un lot n'en contient.",
    ),
    "sweep_errors": Text("Errors", "Erreurs"),
    "parked_rows": Text("Parked rows", "Lignes mises de côté"),
    "parked_rows_hint": Text(
        "They failed for good, and are tried again when they get a new time or somebody asks.",
        "Elles ont échoué pour de bon, et sont réessayées avec une nouvelle heure ou sur demande.",
    ),
    "parked_row": Text("Row", "Ligne"),
    "parked_due": Text("Its time", "Son heure"),
    "parked_attempts": Text("Attempts", "Tentatives"),
    "parked_error": Text("Reason", "Raison"),
    "parked_none": Text("No row is parked", "Aucune ligne n'est mise de côté"),
    "parked_none_hint": Text(
        "A row whose transition fails again and again is parked here, with the reason.",
        "Une ligne dont la transition échoue encore et encore est mise de côté, avec la raison.",
    ),
    "retry_rows": Text(
        "Retry the parked rows of {name}", "Réessayer les lignes de {name} mises de côté"
    ),
    "retry_rows_hint": Text(
        "All of them are tried again at once, as often as at first.",
        "Toutes sont réessayées tout de suite, autant de fois qu'au début.",
    ),
    "done_retry_rows": Text(
        "Rows that are tried again: {count}.", "Lignes qui sont réessayées : {count}."
    ),
    "transitions_none": Text("No transition is declared", "Aucune transition n'est déclarée"),
    "transitions_none_hint": Text(
        "A column of your model says when a row changes, and how:",
        "Une colonne de votre modèle dit quand une ligne change, et comment :",
    ),
}
