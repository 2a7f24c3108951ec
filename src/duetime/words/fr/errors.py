"""A sentence in French for each class of errors that operators meet."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from duetime import errors
from duetime.errors import DuetimeError
from duetime.words.fr.names import NAMES
from duetime.words.fr.values import instant_of, listed, of


def _no_action(error: errors.ActionNotFound) -> str:
    named = f"{error.action_id}"
    if error.key is not None:
        named = f"de type « {error.kind} » avec la clé « {error.key} »"
    return (
        f"aucune action {named} n'est visible pour vous : elle n'a jamais été planifiée, a été "
        "purgée après sa durée de conservation, ou appartient à un autre locataire"
    )


def _no_job(error: errors.JobNotFound) -> str:
    return (
        f"aucune tâche « {error.name} » n'est visible pour vous : elle n'a jamais été enregistrée, "
        "aucun worker qui la déclare n'a encore tourné, elle a été supprimée (rétablissez-la), ou "
        "elle appartient à un autre locataire"
    )


def _no_key(error: errors.ApiKeyNotFound) -> str:
    return (
        f"il n'y a pas de clé d'API {error.key_id} : elle n'a jamais été créée, ou a été révoquée"
    )


def _no_subscription(error: errors.SubscriptionNotFound) -> str:
    return (
        f"il n'y a pas d'abonnement {error.subscription_id} : il n'a jamais été créé, ou a été "
        "supprimé"
    )


def _no_grant(error: errors.GrantNotFound) -> str:
    return f"il n'y a pas de droit {error.grant_id} : il n'a jamais été accordé, ou a été retiré"


def _illegal_state(error: errors.IllegalState) -> str:
    allowed = listed([_state(name) for name in error.allowed], "ou")
    return (
        f"impossible {of(_verb(error.verb))} l'action {error.action_id} : elle est "
        f"{_state(error.state)}, et devrait être {allowed}"
    )


def _stale(error: errors.StaleVersion) -> str:
    return (
        f"la tâche « {error.name} » a changé entre-temps : elle est à la version {error.found}, et "
        f"cette modification part de la version {error.given} ; relisez la tâche et recommencez"
    )


def _expired(error: errors.ActionExpired) -> str:
    return (
        f"impossible {of(_verb(error.verb))} l'action {error.action_id} : elle a expiré le "
        f"{_iso(error.expired_at)}, et plus aucune exécution ne peut démarrer ; planifiez une "
        "autre action qui expire plus tard"
    )


def _duplicate(error: errors.DuplicateKey) -> str:
    return (
        f"la clé « {error.key} » du type « {error.kind} » est prise par l'action non terminée "
        f"{error.action_id} : choisissez de la reprendre ou de la remplacer"
    )


def _taken(error: errors.JobNameTaken) -> str:
    return (
        f"le nom de tâche « {error.name} » est pris : les noms de tâches sont communs à tous les "
        "locataires et à toutes les applications ; choisissez-en un autre"
    )


def _unreadable_job(error: errors.UnreadableJob) -> str:
    return (
        f"la tâche « {error.name} » a été écrite par une autre version de duetime ou endommagée, "
        "et celle-ci ne peut pas la lire : mettez ce processus à jour, ou utilisez la version qui "
        "l'a écrite"
    )


def _denied(error: errors.PermissionDenied) -> str:
    rows = "" if error.tenant is None else f" pour le locataire « {error.tenant} »"
    return (
        f"le droit {error.permission} vous manque{rows} : demandez à un administrateur de "
        "l'accorder à l'un de vos rôles"
    )


def _limited(error: errors.RateLimited) -> str:
    seconds = math.ceil(error.retry_after)
    unit = "seconde" if seconds < 2 else "secondes"
    return f"trop d'essais ont échoué : réessayez dans {seconds} {unit}"


def _not_authenticated(error: errors.NotAuthenticated) -> str:
    return f"vous n'êtes pas connecté, ou vos identifiants ne sont pas valables{_quoted(error)}"


def _unavailable(_: errors.StoreUnavailable) -> str:
    return (
        "le stockage ne répond pas ; rien n'est perdu, ce qui était validé le reste : réessayez "
        "dans un instant"
    )


def _unreadable_row(error: errors.UnreadableRow) -> str:
    return f"une ligne enregistrée ne peut pas être lue ; réessayez{_quoted(error)}"


def _unknown_kind(error: errors.UnknownKind) -> str:
    return f"« {error.kind} » n'est pas un type que cette application connaît"


def _invalid_payload(error: errors.InvalidPayload) -> str:
    return f"les données du type « {error.kind} » ne sont pas valables : « {error.reason} »"


def _lease_lost(error: errors.LeaseLost) -> str:
    return (
        f"le bail de l'action {error.action_id} a été perdu : la fin de cette exécution n'a pas "
        "été enregistrée, car l'action a été récupérée et s'exécute peut-être ailleurs"
    )


def _wait_timeout(error: errors.WaitTimeout) -> str:
    return f"l'action {error.action_id} n'est pas terminée : elle est encore {_state(error.state)}"


def _quoted(error: DuetimeError) -> str:
    """Return the English text, which has details that no attribute has."""
    return f" : « {error} »"


def _verb(verb: str) -> str:
    return NAMES["verb"].get(verb, verb)


def _state(state: str) -> str:
    return NAMES["state"].get(state, state)


def _iso(text: str) -> str:
    return instant_of(datetime.fromisoformat(text))


SENTENCES: Mapping[type[DuetimeError], Callable[[Any], str]] = {
    errors.ActionNotFound: _no_action,
    errors.JobNotFound: _no_job,
    errors.ApiKeyNotFound: _no_key,
    errors.GrantNotFound: _no_grant,
    errors.SubscriptionNotFound: _no_subscription,
    errors.UnreadableJob: _unreadable_job,
    errors.IllegalState: _illegal_state,
    errors.StaleVersion: _stale,
    errors.ActionExpired: _expired,
    errors.DuplicateKey: _duplicate,
    errors.UnknownKind: _unknown_kind,
    errors.InvalidPayload: _invalid_payload,
    errors.LeaseLost: _lease_lost,
    errors.WaitTimeout: _wait_timeout,
    errors.NotAuthenticated: _not_authenticated,
    errors.PermissionDenied: _denied,
    errors.RateLimited: _limited,
    errors.JobNameTaken: _taken,
    errors.StoreUnavailable: _unavailable,
    errors.UnreadableRow: _unreadable_row,
}
