"""What is wrong with a subscription to notifications, and what to give instead, in French."""

from __future__ import annotations

from collections.abc import Mapping

from duetime.words.plural import Plural

TEXTS: Mapping[str, str | Plural] = {
    "give an instant in the future": "donnez un instant à venir",
    "give a list": "donnez une liste",
    "give at least one topic": "donnez au moins un sujet",
    "give * or some of {names}": "donnez *, ou des sujets parmi {names}",
    "tenants subscribe to job-* and action-* topics only": (
        "un locataire ne s'abonne qu'aux sujets job-* et action-*"
    ),
    "give one of {names}": "donnez une valeur parmi {names}",
    "give two different times of day, such as 22:00-07:00": (
        "donnez deux heures différentes, comme 22:00-07:00"
    ),
    "there are {most} already: remove some": "il y en a déjà {most} : supprimez-en",
    "{most} addresses were asked to confirm within a day: try again tomorrow": (
        "{most} adresses ont reçu une demande de confirmation en un jour : réessayez demain"
    ),
    "give one of email=, webhook=, in_app=True, and via= with to=": (
        "donnez une adresse électronique, un webhook, l'application, ou un transport et son "
        "destinataire"
    ),
    "it goes with via=, the name of a transport": (
        "le destinataire va avec le nom d'un transport (via)"
    ),
    "this app has no such transport: give it to Duetime(notifications=Notifications(...)); there "
    "are {names}": (
        "cette application n'a pas ce transport : donnez-le à "
        "Duetime(notifications=Notifications(...)) ; il y a {names}"
    ),
    "give the address of a mailbox, such as ops@example.org": (
        "donnez une adresse électronique, comme ops@example.org"
    ),
    "give {most} patterns at the most": "donnez {most} motifs au plus",
    "the code of the app {app} declares it: change it there, or mute it": (
        "le code de l'application {app} le déclare : modifiez-le là-bas, ou mettez-le en sourdine"
    ),
    "open the link of the message as it is": "ouvrez le lien du message tel quel",
    "give {most} ids at the most, or none for all": (
        "donnez {most} identifiants au plus, ou aucun pour tous"
    ),
    "notifications are sent by this queue, which cannot be paused: mute subscriptions": (
        "les notifications partent de cette file, qui ne peut pas être mise en pause : mettez des "
        "abonnements en sourdine"
    ),
}
