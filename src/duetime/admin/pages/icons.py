"""The icons of the pages: lines in a square of 16 units."""

from __future__ import annotations

from collections.abc import Mapping

_CLOCK = "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 5v3l2 2"
_TRIANGLE = "M5 3l8 5-8 5z"
_WARNING = "M8 2l6 11H2zM8 6v4M8 11v1"

ICONS: Mapping[str, str] = {
    # -- places --
    "now": "M2 9h3l2-5 3 9 2-6 1 2h2",
    "timeline": "M2 4h7M5 8h9M3 12h6",
    "actions": "M3 4h10M3 8h10M3 12h10",
    "jobs": "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3",
    "transitions": "M2 5h10l-3-3M14 11H4l3 3",
    "workers": "M3 3h10v7H3zM6 13h4M8 10v3",
    "queues": "M2 4h12v3H2zM2 9h12v3H2z",
    "audit": "M4 2h8v12H4zM6 5h4M6 8h4M6 11h2",
    "alerts": "M4 11V7a4 4 0 0 1 8 0v4l1 1H3zM7 14h2",
    "settings": "M2 5h7M12 5h2M2 11h2M7 11h7M9 3v4h3V3zM4 9v4h3V9z",
    # -- states --
    "scheduled": _CLOCK,
    "running": _TRIANGLE,
    "succeeded": "M3 8l3 4 7-8",
    "failed": "M4 4l8 8M12 4l-8 8",
    "cancelled": "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM4 12l8-8",
    "late": _WARNING,
    "paused": "M5 3v10M11 3v10",
    "open": _TRIANGLE,
    "waiting": "M4 2h8M4 14h8M5 2c0 6 6 6 6 12M11 2c0 6-6 6-6 12",
    "parked": "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM6 5v6M10 5v6",
    # -- severities --
    "info": "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 7v4M8 5v0",
    "warning": _WARNING,
    "critical": "M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5zM8 5v4M8 11v0",
    # -- others --
    "problem": _WARNING,
    "zone": _CLOCK,
    "theme": "M8 2a6 6 0 1 1 0 12zM8 2a6 6 0 0 0 0 12",
    "copy": "M5 5h8v9H5zM3 11V2h8",
    "up": "M4 10l4-5 4 5",
    "down": "M4 6l4 5 4-5",
}
