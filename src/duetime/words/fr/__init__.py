"""French."""

from duetime.words.fr.rules import FrenchRules
from duetime.words.fr.values import show
from duetime.words.languages import Language

LANGUAGE = Language(FrenchRules(), show)
