"""Keys: the dedupe name of an action among the unfinished ones of its tenant and kind."""

from __future__ import annotations

from typing import Literal

# What `schedule` does when an unfinished action already holds the key.
IfExists = Literal["return", "replace", "raise"]
