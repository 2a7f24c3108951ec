"""English, in which all texts are written where they arise: only rules need a grammar."""

from duetime.words.en.rules import EnglishRules
from duetime.words.languages import Language

LANGUAGE = Language(EnglishRules())
