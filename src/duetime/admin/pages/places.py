"""The places of the navigation, in its order, each with the key that leads there after `g`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from duetime.admin.declarations import Needed, declaration_of
from duetime.admin.pages.page_table import PageTable

PlaceName = Literal[
    "now",
    "timeline",
    "actions",
    "jobs",
    "transitions",
    "workers",
    "queues",
    "audit",
    "alerts",
    "settings",
]
PLACE_NAMES: tuple[PlaceName, ...] = get_args(PlaceName)
PLACE_KEYS: dict[PlaceName, str] = {
    "now": "n",
    "timeline": "t",
    "actions": "a",
    "jobs": "j",
    "transitions": "r",
    "workers": "w",
    "queues": "q",
    "audit": "u",
    "alerts": "l",
    "settings": "s",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A page that the navigation leads to, for those who may open it."""

    name: PlaceName
    path: str
    needs: Needed

    @property
    def key(self) -> str:
        return PLACE_KEYS[self.name]


def places_of(tables: Iterable[PageTable]) -> list[Place]:
    """Return the places that these pages declare, in the order of the navigation."""
    declared = {
        place: declaration_of(endpoint) for table in tables for place, endpoint in table.places
    }
    return [
        Place(name, declared[name].path, declared[name].needs)
        for name in PLACE_NAMES
        if name in declared
    ]
