"""French."""

from duetime.words.fr.checks import TEXTS as CHECKS
from duetime.words.fr.errors import SENTENCES
from duetime.words.fr.habits import FRENCH_HABITS
from duetime.words.fr.names import NAMES
from duetime.words.fr.notifications import TEXTS as SUBSCRIPTIONS
from duetime.words.fr.reasons import TEXTS as REASONS
from duetime.words.fr.remedies import TEXTS as REMEDIES
from duetime.words.fr.rules import FrenchRules
from duetime.words.fr.values import show, typeset, typeset_texts
from duetime.words.languages import Language

LANGUAGE = Language(
    FrenchRules(),
    show,
    typeset_texts({**REASONS, **CHECKS, **REMEDIES, **SUBSCRIPTIONS}),
    NAMES,
    SENTENCES,
    typeset=typeset,
    invalid=typeset("{argument}={value} n'est pas une valeur valable : {remedy}"),
    other=typeset("l'opération a été refusée : « {text} »"),
    quoted=typeset("« {text} »"),
    habits=FRENCH_HABITS,
)
