"""What helps where stored data does not fit the payload type of today."""

from __future__ import annotations


def mending(type_name: str, stored: int, current: int, *, versioned: bool) -> str:
    """The remedy for data that was `stored` in one version of a kind whose type is at another, or
    the same. The kinds of jobs and subscribers go by no versions."""
    last = "deploy, and retry the action"
    changed = f"if {type_name} has changed since it was stored"
    if not versioned:
        return f"{changed}, give new fields a default, {last}"
    if stored == current:
        upgrade = f"version={stored + 1} and upgrades={{{stored}: f}}"
        return f"{changed}, declare the kind with {upgrade}, {last}"
    return (
        f"it was stored in version {stored}, and the kind is at version {current}: "
        f"let upgrades={{{stored}: f}} make it fit, {last}"
    )
