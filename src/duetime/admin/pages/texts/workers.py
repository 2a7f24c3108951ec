"""Texts of the page about workers."""

from __future__ import annotations

from duetime.admin.pages.texts.text import Text, Texts

WORKER_TEXTS: Texts = {
    "workers_alive": Text("Alive", "Actifs"),
    "workers_alive_hint": Text("workers of all apps", "workers de toutes les applications"),
    "workers_slots": Text("Slots in use", "Places occupées"),
    "workers_slots_hint": Text("of all workers", "de tous les workers"),
    "workers_stalled": Text("Stalled", "Bloqués"),
    "workers_stalled_hint": Text("alive, but have missed sweeps", "actifs, balayages manqués"),
    "workers_versions": Text("Versions", "Versions"),
    "workers_none": Text("No worker is alive", "Aucun worker n'est actif"),
    "workers_none_hint": Text(
        "A worker appears here as soon as it starts: `duetime worker module:app`, or in code:",
        "Un worker apparaît ici dès qu'il démarre : `duetime worker module:app`, ou dans le code :",
    ),
    "worker": Text("Worker", "Worker"),
    "worker_state": Text("State", "État"),
    "worker_healthy": Text("alive", "actif"),
    "worker_is_stalled": Text("stalled", "bloqué"),
    "worker_reports": Text("reports a problem", "signale un problème"),
    "worker_seen": Text("Last seen", "Vu"),
    "worker_started": Text("Started", "Démarré"),
    "worker_slots": Text("Slots", "Places"),
    "worker_version": Text("Version", "Version"),
    "worker_older": Text("older", "plus ancienne"),
    "worker_app": Text("App and process", "Application et processus"),
    "worker_process": Text("process {pid} on {host}", "processus {pid} sur {host}"),
    "worker_queues": Text("Queues", "Files"),
    "worker_all_queues": Text("all", "toutes"),
    "worker_kinds": Text("Kinds", "Types"),
    "worker_more": Text("and {n} more", "et {n} de plus"),
    "worker_refused_wakes": Text("wakes refused: {n}", "réveils refusés : {n}"),
}
