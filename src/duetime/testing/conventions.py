"""A check of the naming conventions, for the test suites of users."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duetime.errors import InvalidArgument
from duetime.model.jobs.name import check_job_name
from duetime.model.validation import check_optional

if TYPE_CHECKING:
    from duetime.app import Duetime

KIND = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
MAX_TEXT_LENGTH = 200


def check_conventions(
    app: Duetime,
    *,
    module_prefix: bool = False,
    folder: str | None = None,
    suffix: str | None = None,
) -> None:
    """Raise AssertionError that lists all names against the conventions: jobs are named
    `{module}-{action}` in kebab-case, and kinds are kebab-case too, so that names look the same
    in code, tables, logs and commands.

    On request, also jobs that do not begin with the name of the module that declares them, that
    are declared outside `folder`, such as "jobs", or whose function does not end in `suffix`, such
    as "_job"; each with its file, its line and the remedy.
    """
    if not isinstance(module_prefix, bool):
        raise InvalidArgument("module_prefix", module_prefix, "give True or False")
    rules = JobRules(
        module_prefix,
        check_optional("folder", folder, MAX_TEXT_LENGTH),
        check_optional("suffix", suffix, MAX_TEXT_LENGTH),
    )
    wrong = [*_wrong_jobs(app), *_wrong_declarations(app, rules), *_wrong_kinds(app)]
    assert not wrong, "\n".join(["names that break the conventions:", *wrong])


@dataclass(frozen=True, slots=True)
class JobRules:
    """Which optional conventions are checked."""

    module_prefix: bool
    folder: str | None
    suffix: str | None

    def broken_by(self, job: DeclaredJob) -> Iterator[str]:
        """Yield what is wrong with a job, and the remedy."""
        modules = job.modules(self.folder)
        if self.module_prefix and not any(job.name.startswith(f"{m}-") for m in modules):
            yield f"its module is {modules[0]}: begin its name with {modules[0] + '-'!r}"
        if self.folder is not None and not job.is_in(self.folder):
            yield f"it is declared outside a folder {self.folder!r}: move it into one"
        if self.suffix is not None and not job.function.endswith(self.suffix):
            yield f"its function is {job.function}: call it {job.function + self.suffix}"


@dataclass(frozen=True, slots=True)
class DeclaredJob:
    """A job and the function that runs it: its name, its dotted module, its file and line."""

    name: str
    function: str
    module: str
    file: str
    line: int

    @classmethod
    def of(cls, name: str, given: Callable[..., Any]) -> DeclaredJob:
        function = inspect.unwrap(given)
        code = getattr(function, "__code__", None)
        return cls(
            name=name,
            function=getattr(function, "__name__", type(function).__name__),
            module=getattr(function, "__module__", None) or "",
            file=code.co_filename if code is not None else "",
            line=code.co_firstlineno if code is not None else 0,
        )

    def modules(self, folder: str | None) -> list[str]:
        """Return the names that may begin the job's name: that of its module, or of the package
        which holds the module `jobs`, or the folder that jobs are declared in."""
        parts = self.module.split(".")
        own = parts[-1]
        around = [parts[n - 1] for n, part in enumerate(parts) if n and part == (folder or "jobs")]
        generic = own in (folder or "jobs", "__main__") and around
        return [_kebab(part) for part in (around if generic else [own, *around])]

    def is_in(self, folder: str) -> bool:
        """Whether a folder of this name, or path, is among those below the root of the import."""
        depth = len(self.module.split("."))
        folders = Path(self.file).parent.parts[-depth:]
        wanted = Path(folder).parts
        starts = range(len(folders) - len(wanted) + 1)
        return any(folders[start : start + len(wanted)] == wanted for start in starts)

    def __str__(self) -> str:
        return f"job {self.name!r} ({_short(self.file)}:{self.line})"


def _kebab(module: str) -> str:
    return module.strip("_").replace("_", "-").lower()


def _short(file: str) -> str:
    """Return the path from the current folder, if the file is inside of it."""
    inside = Path(file).is_relative_to(Path.cwd())
    return os.path.relpath(file) if inside else file


def _wrong_declarations(app: Duetime, rules: JobRules) -> Iterator[str]:
    for definition in sorted(app.runtime.jobs, key=lambda definition: definition.name):
        handler = app.runtime.handlers.get(definition.kind)
        if handler is not None:
            job = DeclaredJob.of(definition.name, handler.function)
            yield from (f"- {job}: {wrong}" for wrong in rules.broken_by(job))


def _wrong_jobs(app: Duetime) -> list[str]:
    wrong = []
    for name in app.runtime.jobs.names():
        try:
            check_job_name(name)
        except InvalidArgument as error:
            wrong.append(f"- job {error}")
    return wrong


def _wrong_kinds(app: Duetime) -> list[str]:
    jobs = {*app.runtime.jobs.names()}
    return [
        f"- kind {kind!r}: write lower-case words with hyphens between them, such as send-reminder"
        for kind in app.runtime.handlers.kinds()
        if kind not in jobs and not KIND.fullmatch(kind)
    ]
