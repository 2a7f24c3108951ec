"""A tree under measure: the `src` folder of a commit or of the working tree."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
COMPILED = shutil.ignore_patterns("__pycache__")


@dataclass(frozen=True, slots=True)
class Tree:
    """The package of a folder; `beside` is one of COMPANIONS, beside which it runs."""

    name: str
    src: Path
    beside: str | None = None


# Stand for a commit: the working tree is compared with itself, without and with one of these. Each
# has its name in what is printed.
COMPANIONS = {"sdk": "SDK", "subscription": "subscription"}


def two_trees(compared_with: str, folder: Path) -> tuple[Tree, Tree]:
    """Return what is compared: a commit and the working tree, or the latter without and with a
    companion."""
    new = working_tree(folder / "new")
    name = COMPANIONS.get(compared_with)
    if name is not None:
        bare = replace(new, name=f"without {name}")
        return bare, replace(new, name=f"with {name}", beside=compared_with)
    return commit_tree(compared_with, folder / "old"), new


def commit_tree(commit: str, folder: Path) -> Tree:
    """Extract a commit, without a change to the index or the working tree."""
    name = _git("rev-parse", "--short", "--verify", f"{commit}^{{commit}}").decode().strip()
    with ZipFile(BytesIO(_git("archive", "--format=zip", name, "src"))) as archive:
        archive.extractall(folder)
    return Tree(name, folder / "src")


def working_tree(folder: Path) -> Tree:
    """Copy the working tree: edits during a comparison must not affect it."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=COMPILED)
    return Tree("working tree", folder / "src")


def _git(*words: str) -> bytes:
    # safe.directory: the clone of another user is fine to read.
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), *words]
    done = subprocess.run(command, capture_output=True)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.stderr.decode().strip())
    return done.stdout
