"""Tests of what duetime says to people in each language.

Helpers:
    templates      the templates of phrases that stand in the code
    rules.jsonl    rules with their words in English and French

test_phrase         texts that know what they were made of
test_french_rules   rules in French
test_translated     nothing of what can be translated is left out
test_said           notes, reasons, checks and errors in French
"""
