"""What to type to call this program again."""

from __future__ import annotations

import os
import shlex
import shutil
import sys


def program() -> str:
    """`duetime`, unless a shell would find nothing by that name, or another one."""
    if is_run_as_module():
        ours = os.path.join(os.path.dirname(sys.executable), "duetime")
        called = f"{shlex.quote(sys.executable)} -m duetime.cli"
    else:
        ours, called = sys.argv[0], shlex.quote(sys.argv[0])
    found = shutil.which("duetime")
    return "duetime" if found and _is_same(found, ours) else called


def is_run_as_module() -> bool:
    """Was this started as `python -m duetime.cli`?"""
    return os.path.basename(sys.argv[0]) == "__main__.py"


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
