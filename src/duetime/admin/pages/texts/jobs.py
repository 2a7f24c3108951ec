"""Texts of the page about jobs, and of the page about one of them."""

from __future__ import annotations

from duetime.admin.pages.texts.text import Text, Texts

JOB_TEXTS: Texts = {
    # -- the columns and the filter --
    "job": Text("Job", "Tâche"),
    "job_rule": Text("Rule", "Règle"),
    "job_zone": Text("Time zone", "Fuseau horaire"),
    "job_next_due": Text("Next due", "Prochaine échéance"),
    "job_not_due": Text("no next tick", "aucune échéance prévue"),
    "job_failures": Text("Failures", "Échecs"),
    "job_last_runs": Text("Last runs", "Dernières exécutions"),
    "jobs_q": Text("Name contains", "Le nom contient"),
    "jobs_kind": Text("Kind", "Type"),
    "jobs_queue": Text("Queue", "File"),
    "jobs_enabled": Text("Enabled", "Active"),
    "jobs_due_before": Text("Due before", "Échéance avant"),
    "jobs_show": Text("Show", "Afficher"),
    "job_failing": Text("failing", "en échec"),
    "job_declared": Text("declared in code", "déclarée dans le code"),
    "job_put": Text("made at run time", "créée à l'exécution"),
    "jobs_no_match": Text("No job matches", "Aucune tâche ne correspond"),
    "jobs_none": Text("There is no job", "Il n'y a aucune tâche"),
    "jobs_none_hint": Text(
        "Declare one, and start a worker with `duetime worker module:app`:",
        "Déclarez-en une, et lancez un worker par `duetime worker module:app` :",
    ),
    # -- acts on several --
    "jobs_choose_first": Text("Choose jobs first.", "Choisissez d'abord des tâches."),
    "pause_jobs": Text("Pause the chosen jobs: {n}", "Mettre en pause les tâches choisies : {n}"),
    "pause_jobs_hint": Text(
        "No more ticks. What runs goes on; ticks of this time are not made up for.",
        "Plus d'échéances. Ce qui s'exécute continue ; les échéances de cette période ne sont pas "
        "rattrapées.",
    ),
    "resume_jobs": Text("Resume the chosen jobs: {n}", "Reprendre les tâches choisies : {n}"),
    "resume_jobs_hint": Text(
        "Ticks from now on; those of the pause are not made up for.",
        "Échéances à partir de maintenant ; celles de la pause ne sont pas rattrapées.",
    ),
    "done_pause_jobs": Text(
        "Paused: {n}. Were so already: {same}. Not there or unreadable: {missing}.",
        "Mises en pause : {n}. L'étaient déjà : {same}. Absentes ou illisibles : {missing}.",
    ),
    "done_resume_jobs": Text(
        "Resumed: {n}. Were not paused: {same}. Not there or unreadable: {missing}.",
        "Reprises : {n}. N'étaient pas en pause : {same}. Absentes ou illisibles : {missing}.",
    ),
    # -- acts on one --
    "trigger_now": Text("Trigger now", "Déclencher maintenant"),
    "backfill": Text("Backfill", "Rattraper"),
    "edit": Text("Edit", "Modifier"),
    "preview": Text("Preview", "Aperçu"),
    "dry_run": Text("Dry run", "Simuler"),
    "pause_job": Text("Pause the job “{name}”", "Mettre en pause la tâche « {name} »"),
    "resume_job": Text("Resume the job “{name}”", "Reprendre la tâche « {name} »"),
    "trigger_job": Text("Run the job “{name}” now", "Exécuter la tâche « {name} » maintenant"),
    "trigger_job_hint": Text(
        "Once, even while it is paused; its ticks stay as they are. If its runs must not overlap "
        "and one is unfinished, this one starts after it.",
        "Une fois, même en pause ; ses échéances restent telles quelles. Si ses exécutions ne "
        "doivent pas se chevaucher et qu'une est inachevée, celle-ci commence après.",
    ),
    "backfill_job": Text("Backfill the job “{name}”", "Rattraper la tâche « {name} »"),
    "backfill_job_hint": Text(
        "Runs its past ticks that have no run. First look at which these are.",
        "Exécute ses échéances passées restées sans exécution. Voyez d'abord lesquelles.",
    ),
    "backfill_first": Text("From", "Du"),
    "backfill_last": Text("To, not included", "Au, non compris"),
    "backfill_missing": Text("give both times", "donnez les deux instants"),
    "backfill_found": Text("Ticks without a run: {n}", "Échéances sans exécution : {n}"),
    "backfill_more": Text("and {n} more", "et {n} de plus"),
    "edit_job": Text("Edit the job “{name}”", "Modifier la tâche « {name} »"),
    "edit_rule_hint": Text(
        'A cron expression such as 30 6 * * 1-5, or JSON such as {"every": 60}.',
        'Une expression cron telle que 30 6 * * 1-5, ou du JSON tel que {"every": 60}.',
    ),
    "edit_old": Text("Old", "Avant"),
    "edit_new": Text("New", "Après"),
    "edit_changed": Text(
        "What has changed since you opened it, last by {user}",
        "Ce qui a changé depuis que vous l'avez ouverte, en dernier par {user}",
    ),
    "edit_field": Text("What", "Quoi"),
    "edit_seen": Text("You saw", "Vous aviez vu"),
    "edit_now": Text("Now it is", "Maintenant"),
    "done_pause_job": Text("The job is paused.", "La tâche est en pause."),
    "done_resume_job": Text("The job ticks again.", "La tâche reprend ses échéances."),
    "done_trigger_job": Text(
        "The job “{name}” was triggered.", "La tâche « {name} » a été déclenchée."
    ),
    "done_backfill_job": Text(
        "Ticks whose runs were added: {n}.", "Échéances dont l'exécution a été ajoutée : {n}."
    ),
    "done_edit_job": Text("The job has a new rule.", "La tâche a une nouvelle règle."),
    # -- one job --
    "job_failed_times": Text("failures in a row: {n}", "échecs de suite : {n}"),
    "job_last_error": Text("Last error", "Dernière erreur"),
    "job_durations": Text("Run times", "Durées"),
    "job_durations_said": Text(
        "Run times: last {last}, longest {longest}",
        "Durées : dernière {last}, plus longue {longest}",
    ),
    "job_durations_none": Text("Run times: none yet", "Durées : aucune pour l'instant"),
    "job_next_ticks": Text("Next ticks", "Prochaines échéances"),
    "job_next_ticks_stopped": Text(
        "As the rule has them: at present, the job does not tick.",
        "Selon la règle : actuellement, la tâche n'a pas d'échéances.",
    ),
    "job_no_ticks": Text("No coming tick was found.", "Aucune échéance à venir trouvée."),
    "job_rule_unreadable": Text(
        "Another version of duetime wrote this rule:",
        "Une autre version de duetime a écrit cette règle :",
    ),
    "job_tick": Text("Tick", "Échéance"),
    "job_tick_local": Text("In the job's zone", "Dans le fuseau de la tâche"),
    "job_tick_reader": Text("In your zone", "Dans votre fuseau"),
    "job_tick_note": Text("Clock changes", "Changements d'heure"),
    "job_late": Text("Late", "Retard"),
    "job_started_by": Text("Started by", "Lancée par"),
    "job_triggered": Text("triggered", "déclenchée"),
    "job_runs_none": Text("It has not run yet.", "Elle ne s'est pas encore exécutée."),
    "job_actions": Text("All actions of this job", "Toutes les actions de cette tâche"),
    "job_definition": Text("Definition", "Définition"),
    "job_kind": Text("Kind", "Type"),
    "job_source": Text("Source", "Origine"),
    "job_app": Text("App", "Application"),
    "job_queue": Text("Queue", "File"),
    "job_priority": Text("Priority", "Priorité"),
    "job_overlap": Text("Overlap", "Chevauchement"),
    "job_misfire": Text("Misfires", "Échéances manquées"),
    "job_misfire_after": Text("Misfire after", "Manquée après"),
    "job_jitter": Text("Jitter", "Décalage au plus"),
    "job_retry": Text("Retry", "Reprises"),
    "job_timeout": Text("Timeout", "Délai maximal"),
    "job_alert_after": Text("Alert after failures", "Alerte après échecs"),
    "job_dead_letters": Text("Failed runs kept", "Exécutions échouées gardées"),
    "job_created": Text("Created", "Créée"),
    "job_created_by": Text("Created by", "Créée par"),
    "job_modified": Text("Modified", "Modifiée"),
    "job_modified_by": Text("Modified by", "Modifiée par"),
    "job_recurrence": Text("Rule", "Règle"),
    "job_tz": Text("Time zone", "Fuseau horaire"),
    "job_starts_at": Text("Starts", "Débute"),
    "job_ends_at": Text("Ends", "Finit"),
    "job_state": Text("State", "État"),
}
