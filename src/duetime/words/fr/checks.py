"""The checks of `duetime doctor`, their figures and remedies, in French."""

from __future__ import annotations

from collections.abc import Mapping

from duetime.words.plural import Plural

TEXTS: Mapping[str, str | Plural] = {
    # The database.
    "this store does not report it": "ce stockage ne le signale pas",
    "answered in {ms:.0f} ms": "réponse en {ms:.0f} ms",
    "check the network and the load of the database": (
        "vérifiez le réseau et la charge de la base de données"
    ),
    "{version} is too old": "{version} est trop ancienne",
    "install {oldest} or newer": "installez {oldest} ou une version plus récente",
    "{name}: text that is no UTF-8 may come into a row, and stops what reads it": (
        "{name} : un texte qui n'est pas en UTF-8 peut entrer dans une ligne, et arrête ce qui le "
        "lit"
    ),
    "move to a database with ENCODING 'UTF8'": (
        "passez à une base de données créée avec ENCODING 'UTF8'"
    ),
    "{names} pending": "{names} en attente",
    "run `{migrate}`": "lancez `{migrate}`",
    "version {applied}": "version {applied}",
    "{version}; this duetime knows up to {known} and can use it": (
        "{version} ; ce duetime connaît jusqu'à la version {known} et peut l'utiliser"
    ),
    "upgrade duetime on this machine soon": "mettez bientôt duetime à jour sur cette machine",
    "{version}, without the indexes {names}": "{version}, sans les index {names}",
    "actions are found slowly: {run}, or start a worker, which builds them": (
        "la recherche d'actions est lente : {run}, ou démarrez un worker, qui les construira"
    ),
    "off (listen=False): workers poll": (
        "désactivé (listen=False) : les workers interrogent la base"
    ),
    "notified after {ms:.0f} ms": "notification reçue après {ms:.0f} ms",
    "no notification arrived within {seconds:g} s": "aucune notification reçue en {seconds:g} s",
    "behind PgBouncer in transaction mode set listen=False, or give a URL that bypasses it": (
        "derrière PgBouncer en mode transaction, réglez listen=False, ou donnez une URL qui le "
        "contourne"
    ),
    "end it: claims must skip every row that died since": (
        "terminez-la : les workers doivent sauter chaque ligne morte depuis"
    ),
    "none open": "aucune ouverte",
    "the oldest began {age} ago": "la plus ancienne a commencé il y a {age}",
    "{name} holds back {count:,} transactions": Plural(
        "count",
        "{name} retient {count:,} transaction",
        "{name} retient {count:,} transactions",
    ),
    "{name} has been open for {age}": "{name} est ouverte depuis {age}",
    "{path} cannot be written": "{path} n'est pas accessible en écriture",
    "make it writable for this user": "donnez à cet utilisateur le droit d'y écrire",
    "the directory of {path} cannot be written": (
        "le répertoire de {path} n'est pas accessible en écriture"
    ),
    "make it writable: SQLite keeps files beside the database": (
        "autorisez-y l'écriture : SQLite garde des fichiers à côté de la base"
    ),
    "{path} is writable": "{path} est accessible en écriture",
    "wal": "wal",
    "unknown": "inconnu",
    "mode {mode}, not WAL": "mode {mode}, et non WAL",
    (
        "duetime sets WAL at first use, which this check is; if this warning comes again, move "
        "the file to a local disk"
    ): (
        "duetime active WAL à la première utilisation, dont ce contrôle ; si cet avertissement "
        "revient, placez le fichier sur un disque local"
    ),
    "free": "libre",
    "held by another transaction for more than {seconds:g} s": (
        "pris par une autre transaction depuis plus de {seconds:g} s"
    ),
    "end the transaction that is open on this file": (
        "terminez la transaction ouverte sur ce fichier"
    ),
    "{free:,.0f} MB free": "{free:,.0f} Mo libres",
    "free disk space": "libérez de l'espace disque",
    # The work.
    "{offset:+.3f} s between the store and this machine": (
        "{offset:+.3f} s entre le stockage et cette machine"
    ),
    "the store is {time} ahead of this machine": (
        "le stockage est en avance de {time} sur cette machine"
    ),
    "the store is {time} behind this machine": (
        "le stockage est en retard de {time} sur cette machine"
    ),
    "synchronise both by NTP: the store's clock starts actions, this one computes instants": (
        "synchronisez les deux par NTP : l'horloge du stockage démarre les actions, celle-ci "
        "calcule les instants"
    ),
    "{scheduled:,} scheduled, {running:,} running, {waiting:,} waiting, {parked:,} parked": (
        "planifiées : {scheduled:,}, en cours : {running:,}, en attente : {waiting:,}, mises de "
        "côté : {parked:,}"
    ),
    "none": "aucune",
    "{count:,}, the oldest for {age}": "{count:,}, la plus ancienne depuis {age}",
    "add workers or slots, and check that every queue is served": (
        "ajoutez des workers ou des places, et vérifiez que chaque file est servie"
    ),
    "start a worker": "démarrez un worker",
    "none paused": "aucune en pause",
    "paused: {names}": "en pause : {names}",
    "{count:,} running, none expired": "{count:,} en cours, aucun bail expiré",
    "{count:,} expired": Plural("count", "{count:,} expiré", "{count:,} expirés"),
    "the next sweep of a worker rescues them; if they stay, no worker is running": (
        "le prochain passage d'un worker les récupérera ; s'ils restent, aucun worker ne tourne"
    ),
    "{count:,}: {kinds}": "{count:,} : {kinds}",
    "start a worker of this app": "démarrez un worker de cette application",
    "{remedy} (this app has none)": "{remedy} (cette application n'en a pas)",
    "a worker that knows {kind} claims it when it is due": (
        "un worker qui connaît {kind} la prendra à son échéance"
    ),
    "deploy a worker that knows version {version} of {kind}": (
        "déployez un worker qui connaît la version {version} de {kind}"
    ),
    "{count:,} rows that no worker would ever find": Plural(
        "count",
        "{count:,} ligne qu'aucun worker ne trouverait jamais",
        "{count:,} lignes qu'aucun worker ne trouverait jamais",
    ),
    "cancel and schedule them again; were rows written by hand?": (
        "annulez-les et planifiez-les de nouveau ; des lignes ont-elles été écrites à la main ?"
    ),
    "{count:,} actions": Plural("count", "{count:,} action", "{count:,} actions"),
    (
        "see `duetime actions find --state failed --any-tenant`, and retry what should run again "
        "with `duetime actions retry ID`"
    ): (
        "voyez `duetime actions find --state failed --any-tenant`, et relancez ce qui doit l'être "
        "avec `duetime actions retry ID`"
    ),
    "{scheduled:,} scheduled, {paused:,} paused, {retired:,} retired": (
        "planifiées : {scheduled:,}, en pause : {paused:,}, retirées : {retired:,}"
    ),
    "none overdue": "aucun en retard",
    "ticks of {jobs} are overdue, the oldest for {age}": (
        "des déclenchements de {jobs} sont en retard, le plus ancien depuis {age}"
    ),
    "start a worker of {names}": "démarrez un worker de {names}",
    "check the logs of the workers for jobs whose ticks fail": (
        "cherchez dans les journaux des workers les tâches dont les déclenchements échouent"
    ),
    "{count:,} job": "{count:,} tâche",
    "{count:,} jobs": Plural("count", "{count:,} tâche", "{count:,} tâches"),
    "{jobs}: {names}": "{jobs} : {names}",
    "{names} and {more:,} more": Plural(
        "more",
        "{names} et {more:,} autre",
        "{names} et {more:,} autres",
    ),
    "no job": "aucune tâche",
    "see why with `duetime jobs runs {job}`": "voyez pourquoi avec `duetime jobs runs {job}`",
    "another version of duetime wrote this; upgrade duetime on this machine and on all workers": (
        "une autre version de duetime a écrit ceci ; mettez duetime à jour sur cette machine et "
        "sur tous les workers"
    ),
    "none alive": "aucun actif",
    "{count} alive: {names}": Plural(
        "count",
        "{count} actif : {names}",
        "{count} actifs : {names}",
    ),
    "no worker reports a problem": "aucun worker ne signale de problème",
    "see the logs of these workers": "consultez les journaux de ces workers",
    "none refused": "aucun refusé",
    "{worker} refused {count:,} messages that duetime did not send": Plural(
        "count",
        "{worker} a refusé {count:,} message que duetime n'a pas envoyé",
        "{worker} a refusé {count:,} messages que duetime n'a pas envoyés",
    ),
    "find out who sends them: any role that may connect to the database can": (
        "cherchez qui les envoie : tout rôle qui peut se connecter à la base le peut"
    ),
}
