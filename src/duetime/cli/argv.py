"""The command line by which a user can run this program again."""

from __future__ import annotations

import os
import shlex
import shutil
import sys


def program_command() -> str:
    """`duetime`, or a longer command if a shell would find no program or another one by that
    name."""
    if is_run_as_module():
        ours = os.path.join(os.path.dirname(sys.executable), "duetime")
        called = f"{shlex.quote(sys.executable)} -m duetime.cli"
    else:
        ours, called = sys.argv[0], shlex.quote(sys.argv[0])
    on_path = shutil.which("duetime")
    return "duetime" if on_path and _is_same(on_path, ours) else called


def is_run_as_module() -> bool:
    """Whether this process was started as `python -m duetime.cli`."""
    return os.path.basename(sys.argv[0]) == "__main__.py"


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False
