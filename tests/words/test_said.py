"""Clock notes, reasons, checks and errors in French."""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import pytest

from duetime import Cron, errors
from duetime.errors import DuetimeError, InvalidArgument, InvalidRecurrence, NaiveDatetime
from duetime.model.actions.action import Record
from duetime.model.actions.claim import SeenWorker, WorkerInfo
from duetime.model.clock import to_micros
from duetime.model.health import checks
from duetime.model.health.worker import SlotUse
from duetime.model.pause import QueuePause
from duetime.model.reason import Circumstances, reasons_of
from duetime.model.recurrence.preview_notes import clock_change_note
from duetime.model.state import State
from duetime.model.validation import seconds
from duetime.words.languages import error_said, said
from duetime.words.phrase import phrase

ID = UUID("0199c6a6-0000-7000-8000-000000000001")
NOW = to_micros(datetime(2026, 3, 1, 2, 30, tzinfo=UTC))
HOUR = 3_600_000_000
EMPTY: dict[str, Any] = dict.fromkeys(Record.__annotations__)
LANE = "1.0.mail"
DUE = Record(
    **EMPTY
    | {"id": ID, "kind": "greet", "version": 1, "state": State.scheduled, "queue": "mail"}
    | {"priority": 1, "attempt": 0, "base_attempt": 0, "due_at": NOW - HOUR}
)
WORKER = WorkerInfo("w1", "shop", "here", 7, ["greet"], ["mail"], 5)


def plain(text: str | None) -> str | None:
    """The text with usual spaces, so that it can be compared by eye."""
    thin, wide = "\N{NARROW NO-BREAK SPACE}", "\N{NO-BREAK SPACE}"
    return text and text.replace(thin, " ").replace(wide, " ")


@pytest.mark.parametrize(
    ("expression", "tz", "tick", "note"),
    [
        ("30 2 * * *", "Europe/Paris", "2026-03-29T01:00Z",
            "premier instant après le saut d'heure de 02:00 à 03:00"),
        ("0 12 * * *", "Pacific/Apia", "2011-12-30T10:00Z",
            "premier instant après le saut d'heure de 00:00 le 30 décembre 2011 à 00:00 le "
            "31 décembre 2011"),
        ("30 2 * * *", "Europe/Paris", "2026-10-25T00:30Z",
            "premier passage : les horloges vont reculer de 03:00 à 02:00, et il n'y aura pas de "
            "second déclenchement"),
        ("30 * * * *", "Europe/Paris", "2026-10-25T01:30Z",
            "deuxième passage : les horloges ont reculé à 03:00"),
        ("*/15 * * * *", "Europe/Paris", "2026-03-29T01:00Z",
            "aucun déclenchement dans le saut d'heure de 02:00 à 03:00"),
        ("*/15 2 * 3,10 SUNL", "Europe/Paris", "2026-10-25T00:00Z",
            "aucun déclenchement dans le saut d'heure de 02:00 le 29 mars 2026 à 03:00 ; premier "
            "passage : les horloges vont reculer de 03:00 à 02:00"),
    ],
)  # fmt: skip
def test_clock_notes(expression: str, tz: str, tick: str, note: str) -> None:
    found = clock_change_note(Cron(expression, tz=tz), datetime.fromisoformat(tick))
    assert found is not None
    assert plain(said(found, "fr")) == note


def circumstances(record: Record = DUE, **changes: Any) -> Circumstances:
    known: dict[str, Any] = {"now": NOW, "record": record, "lane": LANE, "held": False}
    known |= {"pause": None, "parent": None, "workers": [SeenWorker(WORKER, NOW, NOW)]}
    return Circumstances(**known | changes)


FULL = replace(WORKER, pools=(SlotUse(None, 5, 5),))
FAILED = replace(DUE, state=State.failed, finished_at=NOW, error="ValueError: x")
RETRYING = replace(DUE, due_at=NOW + 2 * HOUR, attempt=2, error="ValueError: x")
RUNNING = replace(DUE, state=State.running, worker="w1", attempt=1, started_at=NOW)
CHILD = replace(DUE, due_at=None, after=ID, after_on="failed")


@pytest.mark.parametrize(
    ("found", "text", "remedy"),
    [
        (circumstances(replace(DUE, due_at=NOW + HOUR)),
            "elle est prévue le 1er mars 2026 à 03:30 UTC, dans 60 min",
            "attendez, ou replanifiez-la"),
        (circumstances(RETRYING),
            "la tentative 2 a échoué (ValueError: x), et la suivante est prévue le 1er mars 2026 à "
            "04:30 UTC, dans 2 h", "attendez, ou replanifiez-la pour maintenant"),
        (circumstances(FAILED), "elle a échoué le 1er mars 2026 à 02:30 UTC : ValueError: x",
            "relancez-la"),
        (circumstances(replace(FAILED, state=State.cancelled, error=None, cancelled_by="ann")),
            "elle a été annulée le 1er mars 2026 à 02:30 UTC, par ann",
            "planifiez une nouvelle action"),
        (circumstances(replace(RUNNING, lease_until=NOW + HOUR)),
            "la tentative 1 s'exécute sur le worker w1 depuis le 1er mars 2026 à 02:30 UTC",
            "attendez sa fin, ou annulez-la en cours d'exécution"),
        (circumstances(replace(RUNNING, lease_until=NOW), workers=[]),
            "la tentative 1 s'exécute sur le worker w1 depuis le 1er mars 2026 à 02:30 UTC ; son "
            "bail a expiré le 1er mars 2026 à 02:30 UTC",
            "aucun worker n'est actif : démarrez-en un avec `duetime worker module:app`"),
        (circumstances(CHILD), f"elle attend l'action {ID}, qui n'existe plus",
            "le prochain passage d'un worker réglera son sort"),
        (circumstances(CHILD, parent=DUE), f"elle attend que l'action {ID} échoue",
            "cette action est planifiée : demandez pourquoi elle n'est pas terminée, ou "
            "annulez-la"),
        (circumstances(pause=QueuePause("mail", NOW, "ann", None, NOW + HOUR)),
            "la file mail est en pause depuis le 1er mars 2026 à 02:30 UTC, à la demande de ann, "
            "jusqu'au 1er mars 2026 à 03:30 UTC", "reprenez-la : `duetime queues resume mail`"),
        (circumstances(held=True),
            "une autre transaction a verrouillé sa ligne, que les workers sautent donc",
            "terminez cette transaction : voyez `duetime doctor` ou pg_stat_activity"),
        (circumstances(lane="damaged"),
            "elle n'est dans aucun couloir où les workers prennent du travail",
            "annulez-la, puis planifiez-la de nouveau"),
        (circumstances(replace(DUE, kind="post")),
            "aucun worker actif de la file mail n'a de gestionnaire pour le type post",
            "déployez un worker qui a un gestionnaire pour post"),
        (circumstances(replace(DUE, queue="slow")), "aucun worker actif ne sert la file slow",
            "démarrez un worker avec --queue slow, ou sans --queue"),
        (circumstances(lane="p.2.5.greet.1.0.mail"),
            "elle est mise de côté jusqu'à ce qu'un worker connaisse la version 2 du type greet",
            "déployez sur les workers un code qui connaît cette version"),
        (circumstances(workers=[SeenWorker(FULL, NOW, NOW)]),
            "à leur dernier passage, toutes les places étaient prises : w1 5 sur 5",
            "attendez, ou ajoutez des workers ou des places"),
    ],
)  # fmt: skip
def test_reasons(found: Circumstances, text: str, remedy: str) -> None:
    reason = reasons_of(found)[0]
    french = reason.in_language("fr")
    assert (plain(french.text), plain(french.remedy)) == (text, remedy)
    assert french.code == reason.code
    assert reason.in_language("en") == reason


def test_checks() -> None:
    missing = checks.unreachable(1234).in_language("fr")
    assert plain(missing.figure) == "1 234 lignes qu'aucun worker ne trouverait jamais"
    assert plain(missing.remedy) == (
        "annulez-les et planifiez-les de nouveau ; des lignes ont-elles été écrites à la main ?"
    )
    assert checks.unreachable(0).in_language("fr") == replace(
        missing, level=checks.Level.ok, figure="aucune", remedy=None
    )
    late = checks.clock(-3.25).in_language("fr")
    assert late.figure == "le stockage est en retard de 3,2 s sur cette machine"
    paused = checks.queues([f"q{n}" for n in range(6)]).in_language("fr")
    assert plain(paused.figure) == "en pause : q0, q1, q2, q3, q4 et 1 autre"


def test_a_check_can_be_said_after_it_was_copied() -> None:
    result = checks.failed(2)
    copied = asdict(result)
    assert copied["figure"] == "2 actions"
    assert said(copied["remedy"], "fr") == result.in_language("fr").remedy


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (errors.ActionNotFound(ID), f"aucune action {ID} n'est visible pour vous : elle n'a jamais "
            "été planifiée, a été purgée après sa durée de conservation, ou appartient à un autre "
            "locataire"),
        (errors.IllegalState("cancel", ID, "failed", ["scheduled", "running"]),
            f"impossible d'annuler l'action {ID} : elle est échouée, et devrait être planifiée ou "
            "en cours"),
        (errors.IllegalState("retry", ID, "running", ["failed"]),
            f"impossible de relancer l'action {ID} : elle est en cours, et devrait être échouée"),
        (errors.StaleVersion("nightly-report", 3, 5),
            "la tâche « nightly-report » a changé entre-temps : elle est à la version 5, et cette "
            "modification part de la version 3 ; relisez la tâche et recommencez"),
        (errors.ActionExpired("retry", ID, "failed", "2026-03-01T02:30:00+00:00"),
            f"impossible de relancer l'action {ID} : elle a expiré le 1er mars 2026 à 02:30 UTC, "
            "et plus aucune exécution ne peut démarrer ; planifiez une autre action qui expire "
            "plus tard"),
        (errors.JobNameTaken("nightly-report"),
            "le nom de tâche « nightly-report » est pris : les noms de tâches sont communs à tous "
            "les locataires et à toutes les applications ; choisissez-en un autre"),
        (errors.PermissionDenied("actions.retry", "acme"),
            "le droit actions.retry vous manque pour le locataire « acme » : demandez à un "
            "administrateur de l'accorder à l'un de vos rôles"),
        (errors.RateLimited(1), "trop d'essais ont échoué : réessayez dans 1 seconde"),
        (errors.RateLimited(30.2), "trop d'essais ont échoué : réessayez dans 31 secondes"),
        (errors.StoreUnavailable("db:5432 is gone"),
            "le stockage ne répond pas ; rien n'est perdu, ce qui était validé le reste : "
            "réessayez dans un instant"),
        (errors.ConfigError("no option `colour`"),
            "l'opération a été refusée : « no option `colour` »"),
        (NaiveDatetime("at", datetime(2026, 3, 1)), "at=2026-03-01T00:00:00 n'est "  # noqa: DTZ001
            "pas une valeur valable : l'heure n'a pas de fuseau ; utilisez datetime.now(UTC) ou "
            ".replace(tzinfo=...)"),
        (InvalidArgument("x", 1, "a remedy that nobody translated"),
            "x=1 n'est pas une valeur valable : « a remedy that nobody translated »"),
    ],
)  # fmt: skip
def test_errors(error: DuetimeError, sentence: str) -> None:
    assert plain(error_said(error, "fr")) == sentence
    assert error_said(error, "en") == str(error)


@pytest.mark.parametrize(
    ("refused", "remedy"),
    [
        (lambda: Cron("61 * * * *"), "minute : « 61 » est hors limites ; sont permis : 0 à 59"),
        (lambda: Cron("0 0 * * MOM"),
            "jour de la semaine : « MOM » n'est pas valable (vouliez-vous "
            "dire « MON » ?) ; sont permis : 0 à 7 ou SUN à SAT"),
        (lambda: Cron("0 0 * *"),
            "elle a 4 champs ; écrivez minute, heure, jour du mois, mois, jour "
            "de la semaine, et la seconde devant s'il la faut"),
        (lambda: Cron("0 0 30 2 *"),
            "elle ne se déclencherait jamais : aucun mois « 2 » n'a de jour "
            "« 30 » qui tombe un jour de la semaine « * »"),
        (lambda: Cron("0 0 * * *", tz="Europe/Pariss"),
            "il n'y a pas de fuseau IANA de ce nom (vouliez-vous dire « Europe/Paris » ?)"),
        (lambda: seconds("delay", -1), "une durée ne peut pas être négative"),
        (lambda: seconds("delay", cast("float", "noon")), "donnez des secondes ou un timedelta"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_rules_instants_and_delays(refused: Any, remedy: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        refused()
    said_of = plain(error_said(caught.value, "fr"))
    assert said_of is not None
    assert said_of.endswith(f" n'est pas une valeur valable : {remedy}")


def test_a_field_of_an_expression_keeps_its_english_name() -> None:
    with pytest.raises(InvalidRecurrence) as caught:
        Cron("61 * * * *")
    assert (caught.value.field, caught.value.allowed) == ("minute", "0 to 59")
    assert said(phrase("{x}", x=caught.value.allowed), "fr") == "0 à 59"
