"""What is wrong with an argument or a rule, and what to give instead, in French."""

from __future__ import annotations

from collections.abc import Mapping

from duetime.words.plural import Plural

TEXTS: Mapping[str, str | Plural] = {
    # Any argument.
    "{text} (did you mean {near!r}?)": "{text} (vouliez-vous dire « {near} » ?)",
    "give a string": "donnez un texte",
    "it must not be empty": "le texte ne doit pas être vide",
    "it has {count} characters, {most} are allowed": Plural(
        "count",
        "{count} caractère est donné, {most} au plus sont permis",
        "{count} caractères sont donnés, {most} au plus sont permis",
    ),
    "NUL and lone surrogates cannot be stored": (
        "le caractère NUL et les demi-codets isolés ne peuvent pas être enregistrés"
    ),
    "give a whole number from 1 to {most}": "donnez un nombre entier de 1 à {most}",
    # Instants and delays.
    "it has no time zone; use datetime.now(UTC) or .replace(tzinfo=...)": (
        "l'heure n'a pas de fuseau ; utilisez datetime.now(UTC) ou .replace(tzinfo=...)"
    ),
    "give an aware datetime": "donnez une date et une heure avec leur fuseau",
    "in UTC it lies outside years 1 to 9999": (
        "en UTC, l'instant est en dehors des années 1 à 9999"
    ),
    "give seconds or a timedelta": "donnez des secondes ou un timedelta",
    "give a finite number of seconds": "donnez un nombre fini de secondes",
    "a duration cannot be negative": "une durée ne peut pas être négative",
    "give at most {years:g} years": "donnez au plus {years:g} ans",
    "give a duration above 0": "donnez une durée supérieure à 0",
    "give either at= or delay=, not both": (
        "donnez un instant (at) ou un délai (delay), mais pas les deux"
    ),
    "give how far to move: a microsecond at least": (
        "donnez le décalage voulu : une microseconde au moins"
    ),
    "it has passed, the store's clock says {now}; give a later instant": (
        "l'instant est passé, l'horloge du stockage indique {now} ; donnez un instant ultérieur"
    ),
    (
        "the action is not due before {due_at}, so it could never start; give an instant after "
        "its due time"
    ): (
        "l'action n'est pas prévue avant le {due_at}, elle ne pourrait donc jamais démarrer ; "
        "donnez un instant après son échéance"
    ),
    "the action expired at {expires_at}; schedule another one": (
        "l'action a expiré le {expires_at} ; planifiez-en une autre"
    ),
    (
        "the action expires at {expires_at}; give an earlier time, or cancel it and schedule "
        "another one"
    ): (
        "l'action expire le {expires_at} ; donnez un instant antérieur, ou annulez-la et "
        "planifiez-en une autre"
    ),
    "give an instant after start={start}": "donnez un instant après start={start}",
    "give an instant after starts_at={starts_at}": "donnez un instant après starts_at={starts_at}",
    "give at most a day": "donnez un jour au plus",
    "a resumed job has no end of a pause: leave it out": (
        "une tâche reprise n'a pas de fin de pause : ne la donnez pas"
    ),
    # Rules.
    "it would never fire": "la règle ne se déclencherait jamais",
    "it would never fire: the list is empty": (
        "la règle ne se déclencherait jamais : la liste est vide"
    ),
    "the rule has no tick that early; give a later instant": (
        "la règle n'a pas de déclenchement aussi tôt ; donnez un instant ultérieur"
    ),
    "the rule has no tick from then on; give an earlier instant": (
        "la règle n'a plus de déclenchement à partir de là ; donnez un instant antérieur"
    ),
    "the rule has no tick between it and starts_at={starts_at}": (
        "la règle n'a pas de déclenchement entre cet instant et starts_at={starts_at}"
    ),
    "exclude dates, aware datetimes, a rule, or a list of them": (
        "excluez des dates, des instants avec leur fuseau, une règle, ou une liste de ceux-ci"
    ),
    "the exclusion leaves no tick of: {rule}": (
        "l'exclusion ne laisse aucun déclenchement de la règle"
    ),
    "the shortest interval is one second: give seconds=, minutes=, hours= or days=": (
        "l'intervalle le plus court est d'une seconde : donnez seconds=, minutes=, hours= ou days="
    ),
    "give at most 1000 years": "donnez au plus 1000 ans",
    "give a number, or a timedelta for seconds": (
        "donnez un nombre, ou un timedelta pour les secondes"
    ),
    "give a list of aware datetimes": "donnez une liste d'instants avec leur fuseau",
    "give at most {most} instants": "donnez au plus {most} instants",
    "the rule has its own zone, {zones}; give the zone there only": (
        "la règle a son propre fuseau, {zones} ; ne donnez le fuseau que là"
    ),
    "an interval is written Every({length})": "un intervalle s'écrit Every({length})",
    "a single instant is written [datetime(...)], with a zone": (
        "un instant seul s'écrit [datetime(...)], avec un fuseau"
    ),
    "give a cron string, Cron(...), Every(...), or a list of instants or rules": (
        "donnez une expression cron, Cron(...), Every(...), ou une liste d'instants ou de règles"
    ),
    "there is no IANA zone of that name": "il n'y a pas de fuseau IANA de ce nom",
    "give the name of an IANA zone, as 'Europe/Paris'": (
        "donnez le nom d'un fuseau IANA, comme « Europe/Paris »"
    ),
    "{unknown}: {name} is an offset of a part of the year; name the place, as {zones}": (
        "{unknown} : {name} est un décalage d'une partie de l'année ; nommez le lieu, comme {zones}"
    ),
    # Cron expressions.
    "write '* * * * *'": "écrivez « * * * * * »",
    "write '* * * * * *'": "écrivez « * * * * * * »",
    (
        "the start of a machine is not an instant that a rule can name; schedule an action when "
        "your program starts"
    ): (
        "le démarrage d'une machine n'est pas un instant qu'une règle peut nommer ; planifiez une "
        "action au démarrage de votre programme"
    ),
    "second": "seconde",
    "minute": "minute",
    "hour": "heure",
    "day of month": "jour du mois",
    "month": "mois",
    "day of week": "jour de la semaine",
    (
        "write minute, hour, day of month, month, day of week, and the second before them if you "
        "need it"
    ): (
        "écrivez minute, heure, jour du mois, mois, jour de la semaine, et la seconde devant s'il "
        "la faut"
    ),
    (
        "leave out the year: six fields are second, minute, hour, day of month, month, day of "
        "week; single dates are written [datetime(...)]"
    ): (
        "ôtez l'année : les six champs sont seconde, minute, heure, jour du mois, mois, jour de "
        "la semaine ; des dates isolées s'écrivent [datetime(...)]"
    ),
    "it has {count} field; {remedy}": "elle a {count} champ ; {remedy}",
    "it has {count} fields; {remedy}": Plural(
        "count",
        "elle a {count} champ ; {remedy}",
        "elle a {count} champs ; {remedy}",
    ),
    "write a cron expression as a string": "écrivez l'expression cron comme un texte",
    "it has {count} characters, {most} characters are allowed": (
        "elle a {count} caractères, {most} au plus sont permis"
    ),
    "it is empty; write five fields, as '0 2 * * *'": (
        "elle est vide ; écrivez cinq champs, comme « 0 2 * * * »"
    ),
    "an interval is written Every(...), as Every(minutes=5)": (
        "un intervalle s'écrit Every(...), comme Every(minutes=5)"
    ),
    "{name!r} is not a macro; known are {macros}": (
        "« {name} » n'est pas une macro ; les macros connues sont {macros}"
    ),
    "{unit} {value!r} {reason}; allowed are {allowed}": (
        "{unit} : « {value} » {reason} ; sont permis : {allowed}"
    ),
    "{low} to {high}": "{low} à {high}",
    "{numbers} or {first} to {last}": "{numbers} ou {first} à {last}",
    "has a W in the wrong place": "a un W mal placé",
    "a single day as 15W, or LW": "un seul jour, comme 15W, ou LW",
    "is not a day counted from the end": "n'est pas un jour compté depuis la fin",
    "L, L-1 to L-30 or LW": "L, L-1 à L-30 ou LW",
    "names no week of the month": "ne nomme aucune semaine du mois",
    "names no weekday": "ne nomme aucun jour de la semaine",
    "MON#1 to MON#5, or MONL for the last": "MON#1 à MON#5, ou MONL pour le dernier",
    "does not say which weekday": "ne dit pas quel jour de la semaine",
    "FRIL or 5L, and so on": "FRIL ou 5L, par exemple",
    "is not a value or a range": "n'est ni une valeur ni un intervalle",
    "is missing": "manque",
    "is not a range": "n'est pas un intervalle",
    "is allowed only alone, and only in a day field": (
        "n'est permis que seul, et dans un champ de jour"
    ),
    "is not valid": "n'est pas valable",
    "is out of range": "est hors limites",
    "has no valid step": "n'a pas de pas valable",
    "steps of 1 and more, as */5": "des pas de 1 et plus, comme */5",
    (
        "it would never fire: no month {month!r} has a day of month {month_day!r} with day of "
        "week {weekday!r}"
    ): (
        "elle ne se déclencherait jamais : aucun mois « {month} » n'a de jour « {month_day} » qui "
        "tombe un jour de la semaine « {weekday} »"
    ),
}
