"""Clock notes, durations, and the reasons of `why`, in French."""

from __future__ import annotations

from collections.abc import Mapping

from duetime.words.plural import Plural

TEXTS: Mapping[str, str | Plural] = {
    # Clock notes.
    "no ticks in the gap {start}-{end}": (
        "aucun déclenchement dans le saut d'heure de {start} à {end}"
    ),
    "first instant after the gap {start}-{end}": (
        "premier instant après le saut d'heure de {start} à {end}"
    ),
    "second pass: the clocks went back from {start}": (
        "deuxième passage : les horloges ont reculé à {start}"
    ),
    "first pass: the clocks go back from {start} to {end}": (
        "premier passage : les horloges vont reculer de {start} à {end}"
    ),
    "{change}, and it does not run again": "{change}, et il n'y aura pas de second déclenchement",
    # Texts one after another.
    "{first}; {then}": "{first} ; {then}",
    # Durations.
    "{count:.0f} d": "{count:.0f} j",
    "{count:.0f} h": "{count:.0f} h",
    "{count:.0f} m": "{count:.0f} min",
    "{count:.0f} s": "{count:.0f} s",
    "{count:.1f} s": "{count:.1f} s",
    # Why an action does not run, and what to do about it.
    "it succeeded at {at}": "elle a réussi le {at}",
    "it failed at {at}": "elle a échoué le {at}",
    "it was cancelled at {at}": "elle a été annulée le {at}",
    "an unknown time": "(date inconnue)",
    "{text}, by {by}": "{text}, par {by}",
    "{text}: {error}": "{text} : {error}",
    "retry it": "relancez-la",
    "schedule a new action": "planifiez une nouvelle action",
    "attempt {attempt} runs on worker {worker} since {since}": (
        "la tentative {attempt} s'exécute sur le worker {worker} depuis le {since}"
    ),
    "wait for its end, or cancel it with running=True": (
        "attendez sa fin, ou annulez-la en cours d'exécution"
    ),
    "{text}; its lease ran out at {lease}": "{text} ; son bail a expiré le {lease}",
    "the next sweep of a worker frees it": "le prochain passage d'un worker la libérera",
    "no worker is alive: {start_worker}": "aucun worker n'est actif : {start_worker}",
    "no worker is alive": "aucun worker n'est actif",
    "start one with `duetime worker module:app`": (
        "démarrez-en un avec `duetime worker module:app`"
    ),
    "attempt {attempt} failed ({error}), and the next one is due at {at}, in {left}": (
        "la tentative {attempt} a échoué ({error}), et la suivante est prévue le {at}, dans {left}"
    ),
    "wait, or reschedule it to now": "attendez, ou replanifiez-la pour maintenant",
    "it is due at {at}, in {left}": "elle est prévue le {at}, dans {left}",
    "wait, or reschedule it": "attendez, ou replanifiez-la",
    "it waits for action {after}, which is gone": (
        "elle attend l'action {after}, qui n'existe plus"
    ),
    "it waits for action {after}, which succeeded": "elle attend l'action {after}, qui a réussi",
    "it waits for action {after}, which failed": "elle attend l'action {after}, qui a échoué",
    "it waits for action {after}, which was cancelled": (
        "elle attend l'action {after}, qui a été annulée"
    ),
    "the next sweep of a worker settles it": "le prochain passage d'un worker réglera son sort",
    "it waits until action {after} succeeds": "elle attend que l'action {after} réussisse",
    "it waits until action {after} fails": "elle attend que l'action {after} échoue",
    "it waits until action {after} finishes": "elle attend que l'action {after} se termine",
    "that action is scheduled: ask why it has not finished, or cancel it": (
        "cette action est planifiée : demandez pourquoi elle n'est pas terminée, ou annulez-la"
    ),
    "that action is running: ask why it has not finished, or cancel it": (
        "cette action est en cours : demandez pourquoi elle n'est pas terminée, ou annulez-la"
    ),
    "queue {queue} is paused by {by} since {since}": (
        "la file {queue} est en pause depuis le {since}, à la demande de {by}"
    ),
    "{text}, until {until}": "{text}, jusqu'au {until}",
    "resume it: `duetime queues resume {queue}`": "reprenez-la : `duetime queues resume {queue}`",
    "it is in no lane from which workers claim": (
        "elle n'est dans aucun couloir où les workers prennent du travail"
    ),
    "cancel it, and schedule it again": "annulez-la, puis planifiez-la de nouveau",
    "another transaction has locked its row, which claims therefore pass over": (
        "une autre transaction a verrouillé sa ligne, que les workers sautent donc"
    ),
    "end that transaction: see `duetime doctor`, or pg_stat_activity": (
        "terminez cette transaction : voyez `duetime doctor` ou pg_stat_activity"
    ),
    "no living worker serves queue {queue}": "aucun worker actif ne sert la file {queue}",
    "start a worker with --queue {queue}, or without --queue": (
        "démarrez un worker avec --queue {queue}, ou sans --queue"
    ),
    "no living worker of queue {queue} has a handler for kind {kind}": (
        "aucun worker actif de la file {queue} n'a de gestionnaire pour le type {kind}"
    ),
    "deploy a worker with a handler for {kind}": (
        "déployez un worker qui a un gestionnaire pour {kind}"
    ),
    "it is parked until a worker knows version {version} of kind {kind}": (
        "elle est mise de côté jusqu'à ce qu'un worker connaisse la version {version} du type "
        "{kind}"
    ),
    "deploy code that knows this version to the workers": (
        "déployez sur les workers un code qui connaît cette version"
    ),
    "at their last sweeps all slots were in use: {used}": (
        "à leur dernier passage, toutes les places étaient prises : {used}"
    ),
    "{worker} {used} of {slots}": "{worker} {used} sur {slots}",
    "wait, or add workers or slots": "attendez, ou ajoutez des workers ou des places",
}
