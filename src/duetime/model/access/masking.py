"""What a reader of an action or job sees of its data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Fields with the data of users.
DATA_FIELDS = ("payload", "result", "progress")
# Fields with texts of exceptions, which may quote data.
ERROR_FIELDS = ("error", "error_group", "last_error")
CLASS_NAME = re.compile(r"[^\W\d][\w.]*(?=:|$)")
# Shown of an error that names no class.
SOME_ERROR = "error"


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: with the permission `payload.read` or without, and whether an administrator."""

    reads_payloads: bool
    administrator: bool = False

    def shown(self, document: Mapping[str, Any], *, kind_known: bool) -> dict[str, Any]:
        """Return the fields of a document that the reader sees. Without `payload.read` there are no
        data, and errors are named by class. What a payload of a kind holds that this process does
        not know, nobody can mask: only administrators see it."""
        if not self.reads_payloads:
            return _without_data(document)
        if kind_known or self.administrator:
            return dict(document)
        return {name: value for name, value in document.items() if name != "payload"}


def _without_data(document: Mapping[str, Any]) -> dict[str, Any]:
    hidden = (*DATA_FIELDS, "traceback")
    kept = {name: value for name, value in document.items() if name not in hidden}
    texts = {name: kept[name] for name in ERROR_FIELDS if isinstance(kept.get(name), str)}
    return kept | {name: error_class(text) for name, text in texts.items()}


def error_class(text: str) -> str:
    """Return the class of the exception that an error names first, without what it says."""
    found = CLASS_NAME.match(text)
    return found[0] if found else SOME_ERROR
