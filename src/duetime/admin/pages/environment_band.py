"""The band that tells the pages of one environment from those of another."""

from __future__ import annotations

from duetime.config import Settings

COLOR_OF_NAME = {
    **dict.fromkeys(("production", "prod", "live"), "red"),
    **dict.fromkeys(("staging", "stage", "preproduction", "preprod"), "amber"),
}


def band_color(settings: Settings) -> str:
    """Return the color that the settings name, or else the one that goes with the name."""
    if settings.environment_color is not None:
        return settings.environment_color
    return COLOR_OF_NAME.get((settings.environment or "").strip().lower(), "grey")
