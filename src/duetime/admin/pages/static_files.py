"""The files that pages load: styles, scripts, pictures. Their path names what is in them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

MEDIA_TYPES: Mapping[str, str] = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
VERSION_LENGTH = 16


@cache
def static_files() -> Mapping[str, bytes]:
    """Return the content of each file, by name."""
    folder = files("duetime.admin.pages") / "static"
    return {item.name: item.read_bytes() for item in folder.iterdir() if media_type(item.name)}


@cache
def static_version() -> str:
    """Return a hash of all files. Scripts that import each other find the same version."""
    digest = hashlib.sha256()
    for name, content in sorted(static_files().items()):
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:VERSION_LENGTH]


def static_path(name: str) -> str:
    """Return the path of a file below the mount point. LookupError if there is none."""
    if name not in static_files():
        raise LookupError(f"there is no static file {name!r}")
    return f"/static/{static_version()}/{name}"


def media_type(name: str) -> str | None:
    return MEDIA_TYPES.get(name.rpartition(".")[2])
