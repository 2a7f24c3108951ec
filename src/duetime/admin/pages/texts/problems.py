"""Texts of problems: what is wrong, and what to do."""

from __future__ import annotations

from duetime.admin.pages.texts.text import Text, Texts

PROBLEM_TEXTS: Texts = {
    "problems": Text("Needs attention", "À traiter"),
    "problems_none": Text("Nothing needs attention", "Rien à traiter"),
    "alerts_none_hint": Text(
        "Failing jobs, overdue work, paused queues and stalled workers appear here. Code hears of "
        "failing jobs, too:",
        "Les tâches en échec, le travail en retard, les files en pause et les workers bloqués "
        "apparaissent ici. Le code peut aussi être averti des tâches en échec :",
    ),
    "problem_look": Text("Look", "Voir"),
    "problem_by": Text("by {user}", "par {user}"),
    "problem_until": Text("until", "jusqu'à"),
    "problem_quoted": Text("“{text}”", "« {text} »"),
    "pause_failing_job": Text("Pause the job “{name}”", "Mettre en pause la tâche « {name} »"),
    "pause_failing_job_hint": Text(
        "It has no more ticks until it is resumed. What runs goes on; ticks of this time are not "
        "made up for.",
        "Elle n'a plus d'échéances jusqu'à sa reprise. Ce qui s'exécute continue ; les échéances "
        "de cette période ne sont pas rattrapées.",
    ),
    "done_pause_failing_job": Text(
        "The job “{name}” is paused.", "La tâche « {name} » est en pause."
    ),
    "problem_no_worker": Text("No worker is alive", "Aucun worker n'est actif"),
    "problem_no_worker_remedy": Text(
        "Start one: duetime worker module:app. Actions that are due: {n}.",
        "Lancez-en un : duetime worker module:app. Actions à exécuter : {n}.",
    ),
    "problem_worker_stalled": Text(
        "The worker “{subject}” has stopped reporting, last",
        "Le worker « {subject} » ne donne plus signe de vie, vu",
    ),
    "problem_worker_stalled_remedy": Text(
        "Look at its process: it hangs, or was ended without a word. Others take over what it ran "
        "once its leases expire.",
        "Examinez son processus : il est bloqué, ou a été tué. D'autres reprendront son travail à "
        "l'expiration de ses baux.",
    ),
    "problem_worker_reports": Text(
        "The worker “{subject}” reports a problem", "Le worker « {subject} » signale un problème"
    ),
    "problem_worker_reports_remedy": Text("See its logs.", "Consultez ses journaux."),
    "problem_wakes_refused": Text(
        "The worker “{subject}” refused messages that duetime did not send: {n}",
        "Le worker « {subject} » a refusé des messages que duetime n'a pas envoyés : {n}",
    ),
    "problem_wakes_refused_remedy": Text(
        "Find out who sends them: any role that may connect to the database can.",
        "Cherchez qui les envoie : tout rôle qui peut se connecter à la base le peut.",
    ),
    "problem_overdue": Text("Overdue actions: {n}, the oldest", "Actions en retard : {n}, depuis"),
    "problem_overdue_remedy": Text(
        "Add workers or slots, and check that a worker serves every queue.",
        "Ajoutez des workers ou des places, et vérifiez que chaque file est servie.",
    ),
    "problem_leases_expired": Text("Expired leases: {n}", "Baux expirés : {n}"),
    "problem_leases_expired_remedy": Text(
        "The next sweep of a worker rescues these actions; if they stay, no worker is running.",
        "Le prochain balayage d'un worker reprend ces actions ; si elles restent, aucun worker ne "
        "tourne.",
    ),
    "problem_unreachable": Text(
        "Rows that no worker would ever find: {n}", "Lignes qu'aucun worker ne trouvera : {n}"
    ),
    "problem_unreachable_remedy": Text(
        "Cancel these actions and schedule them again. Were rows written by hand?",
        "Annulez ces actions et replanifiez-les. Des lignes ont-elles été écrites à la main ?",
    ),
    "problem_ticks_overdue": Text(
        "Jobs whose ticks are overdue: {n}, the oldest",
        "Tâches aux échéances en retard : {n}, depuis",
    ),
    "problem_ticks_overdue_remedy": Text(
        "Start a worker of their app ({details}); if one runs, see its logs.",
        "Lancez un worker de leur application ({details}) ; s'il tourne, consultez ses journaux.",
    ),
    "problem_job_failing": Text("The job “{subject}” fails", "La tâche « {subject} » échoue"),
    "problem_job_failing_times": Text(
        "The job “{subject}” failed {n} times in a row, last",
        "La tâche « {subject} » a échoué {n} fois de suite, la dernière",
    ),
    "problem_job_failing_remedy": Text(
        "See the error of its last run. Pause it if its failures do harm.",
        "Voyez l'erreur de sa dernière exécution. Mettez-la en pause si ses échecs nuisent.",
    ),
    "problem_job_unreadable": Text(
        "The job “{subject}” cannot be read", "La tâche « {subject} » est illisible"
    ),
    "problem_job_unreadable_remedy": Text(
        "Another version of duetime wrote it: upgrade duetime here and on all workers.",
        "Une autre version de duetime l'a écrite : mettez à jour duetime ici et sur tous les "
        "workers.",
    ),
    "problem_kind_unknown": Text(
        "No worker knows the kind “{subject}”; actions that wait: {n}",
        "Aucun worker ne connaît le type « {subject} » ; actions en attente : {n}",
    ),
    "problem_kind_unknown_remedy": Text(
        "Deploy a worker with a handler for it.", "Déployez un worker qui a un handler pour lui."
    ),
    "problem_version_unknown": Text(
        "No worker knows version {details} of the kind “{subject}”; actions that wait: {n}",
        "Aucun worker ne connaît la version {details} du type « {subject} » ; actions en "
        "attente : {n}",
    ),
    "problem_version_unknown_remedy": Text(
        "Deploy a worker that knows this version.", "Déployez un worker qui connaît cette version."
    ),
    "problem_queue_paused": Text(
        "The queue “{subject}” was paused", "La file « {subject} » a été mise en pause"
    ),
    "problem_queue_paused_remedy": Text(
        "Nothing of it starts. Resume it once its reason is gone.",
        "Rien n'y démarre. Reprenez-la quand la raison a disparu.",
    ),
    "problem_snapshot_held": Text(
        "An open transaction holds back the vacuum: {subject}",
        "Une transaction ouverte bloque le vacuum : {subject}",
    ),
    "problem_snapshot_held_remedy": Text(
        "End it: claims must skip every row that died since.",
        "Terminez-la : chaque prise doit sauter les lignes mortes depuis.",
    ),
    "problem_disk_full": Text("The disk is nearly full", "Le disque est presque plein"),
    "problem_disk_full_remedy": Text(
        "Free space: {bytes} are left for the database.",
        "Libérez de l'espace : il reste {bytes} pour la base.",
    ),
    "problem_clock_differs": Text(
        "The clocks of the store and of this machine differ by {duration}",
        "Les horloges du stockage et de cette machine diffèrent de {duration}",
    ),
    "problem_clock_differs_remedy": Text(
        "Synchronise both by NTP: the store's clock starts actions, this one computes instants.",
        "Synchronisez-les par NTP : l'horloge du stockage lance les actions, celle-ci calcule les "
        "instants.",
    ),
}
