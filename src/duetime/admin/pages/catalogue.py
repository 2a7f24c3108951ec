"""Every text of the pages, in each language."""

from __future__ import annotations

from collections.abc import Sequence

from duetime.admin.pages.languages import Language
from duetime.admin.pages.texts.actions import ACTION_TEXTS
from duetime.admin.pages.texts.alerts import ALERT_TEXTS
from duetime.admin.pages.texts.audit import AUDIT_TEXTS
from duetime.admin.pages.texts.frame import FRAME_TEXTS
from duetime.admin.pages.texts.jobs import JOB_TEXTS
from duetime.admin.pages.texts.now import NOW_TEXTS
from duetime.admin.pages.texts.problems import PROBLEM_TEXTS
from duetime.admin.pages.texts.queues import QUEUE_TEXTS
from duetime.admin.pages.texts.schedule import SCHEDULE_TEXTS
from duetime.admin.pages.texts.settings import SETTINGS_TEXTS
from duetime.admin.pages.texts.text import Text, Texts
from duetime.admin.pages.texts.timeline import TIMELINE_TEXTS
from duetime.admin.pages.texts.transitions import TRANSITION_TEXTS
from duetime.admin.pages.texts.workers import WORKER_TEXTS

SIGN_IN_TEXTS: Texts = {
    # -- the frame of every page --
    "skip_to_content": Text("Skip to content", "Aller au contenu"),
    "language": Text("Language", "Langue"),
    "signed_in_as": Text("Signed in as {user}", "Connecté en tant que {user}"),
    "reader_by_key": Text("API key", "clé d'API"),
    "reader_by_link": Text("one-time link", "lien à usage unique"),
    "sign_out": Text("Sign out", "Se déconnecter"),
    "development": Text(
        "Development: everybody on this machine may do everything.",
        "Développement : tout le monde sur cette machine peut tout faire.",
    ),
    # -- signing in --
    "sign_in": Text("Sign in", "Se connecter"),
    "api_key": Text("API key", "Clé d'API"),
    "api_key_hint": Text(
        "It begins with dt_. Whoever administers this application can make one.",
        "Elle commence par dt_. Les administrateurs de cette application peuvent en créer une.",
    ),
    "link_hint": Text(
        "This link opens one session, on this machine only.",
        "Ce lien ouvre une seule session, sur cette machine seulement.",
    ),
    "signed_in_hint": Text(
        "Your session ends after 12 hours, or after an hour without use.",
        "Votre session se termine après 12 heures, ou après une heure sans activité.",
    ),
    "key_refused": Text(
        "This API key is not valid. It may have expired, or been revoked.",
        "Cette clé d'API n'est pas valide. Elle a peut-être expiré, ou été révoquée.",
    ),
    "link_refused": Text(
        "This link is not valid. It was used, has expired, or is for another machine: "
        "start duetime serve again for a new one.",
        "Ce lien n'est pas valide. Il a servi, a expiré, ou est destiné à une autre machine : "
        "relancez duetime serve pour en obtenir un nouveau.",
    ),
    "too_many_failures": Text(
        "Too many failed attempts: try again in {seconds} seconds.",
        "Trop de tentatives échouées : réessayez dans {seconds} secondes.",
    ),
    "https_needed": Text(
        "Signing in needs HTTPS, since others on the way could read the key. If a proxy "
        "provides HTTPS, give its address as base_url.",
        "La connexion exige HTTPS, car la clé pourrait être lue en chemin. Si un proxy "
        "fournit HTTPS, indiquez son adresse comme base_url.",
    ),
    # -- what went wrong --
    "error_400": Text("Bad request", "Requête incorrecte"),
    "error_401": Text("Sign in first", "Connectez-vous d'abord"),
    "error_403": Text("Not allowed", "Non autorisé"),
    "error_404": Text("Not found", "Introuvable"),
    "error_405": Text("Not possible here", "Impossible ici"),
    "error_409": Text("Not in this state", "Impossible dans cet état"),
    "error_412": Text("Changed meanwhile", "Modifié entre-temps"),
    "error_413": Text("Too large", "Trop volumineux"),
    "error_415": Text("Not a form", "Pas un formulaire"),
    "error_422": Text("Not valid", "Non valide"),
    "error_429": Text("Too many requests", "Trop de requêtes"),
    "error_500": Text("Something went wrong", "Une erreur s'est produite"),
    "error_503": Text("The store does not answer", "Le stockage ne répond pas"),
    "form_is_stale": Text(
        "This form was not sent from a page that was shown to you just now: load the page "
        "again, and allow its cookies.",
        "Ce formulaire ne vient pas d'une page qui vous a été affichée : rechargez la page, et "
        "acceptez ses cookies.",
    ),
}

ALL_TEXTS: Sequence[Texts] = (
    SIGN_IN_TEXTS,
    FRAME_TEXTS,
    ACTION_TEXTS,
    JOB_TEXTS,
    QUEUE_TEXTS,
    PROBLEM_TEXTS,
    NOW_TEXTS,
    TIMELINE_TEXTS,
    WORKER_TEXTS,
    AUDIT_TEXTS,
    SETTINGS_TEXTS,
    SCHEDULE_TEXTS,
    TRANSITION_TEXTS,
    ALERT_TEXTS,
)
CATALOGUE: Texts = {key: text for texts in ALL_TEXTS for key, text in texts.items()}


def text_of(key: str, language: Language, **values: object) -> str:
    text: str = getattr(CATALOGUE[key], language)
    return text.format(**values) if values else text
