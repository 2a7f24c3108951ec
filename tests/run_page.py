"""Run the code blocks of one Markdown page: `python tests/run_page.py PAGE [POSTGRES_URL]`.

Blocks run in order in the current directory, which should be an empty one. Comments before a block
say what to do with it:

    <!-- new -->               python: forget what earlier blocks defined
    <!-- file: app.py -->      write the block to this file instead of running it
    <!-- append: app.py -->    add the block to the end of this file, which is there
    <!-- fragment: reason -->  python: not run, for a reason
    <!-- signatures -->        python: a list of signatures, which type checkers do not read
    <!-- fmt: off -->          ruff keeps its lines as they are
    <!-- exit: 1 -->           console: the commands exit with this status, not with 0
    <!-- output -->            console: the output is as displayed (`...` stands for anything)
    <!-- server: 8000 -->      console: a server, which runs until the page ends, on a free port
                               instead of this one, as do the commands after it
    <!-- postgres -->          DUETIME_URL names a PostgreSQL database; not run if there is none

Only the standard library is used here, so that an environment with nothing but duetime will do.
"""

import ast
import asyncio
import importlib
import inspect
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import tomllib
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
MARKS = {
    *("new", "file", "append", "fragment", "exit", "output", "postgres", "server", "signatures"),
    "fmt",
}
RUN = {"python", "console"}
NOT_RUN = {"toml", "sql", "text", "json", "yaml", "mermaid", "ini", "dockerfile"}

FENCE = re.compile(r"^ *(?P<ticks>`{3,})(?P<language>\S*)")
COMMENT = re.compile(r"^ *<!-- *(?P<name>\w+)(?:: *(?P<value>.*?))? *-->\s*$")


class PageError(Exception):
    """Something on the page is not as it should be."""


@dataclass
class Block:
    language: str
    line: int  # of the first line of code
    code: str
    marks: dict[str, str] = field(default_factory=dict)


def read_blocks(page: Path) -> list[Block]:
    """All code blocks of a page with the comments before them."""
    blocks: list[Block] = []
    marks: dict[str, str] = {}
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
    for number, line in lines:
        if fence := FENCE.match(line):
            code = []
            for _, inner in lines:
                if inner.strip() == fence["ticks"]:
                    break
                code.append(inner)
            else:
                raise PageError(f"{page}:{number}: the block never ends")
            text = textwrap.dedent("\n".join(code))
            blocks.append(check(page, Block(fence["language"], number + 1, text, marks)))
            marks = {}
        elif comment := COMMENT.match(line):
            marks[comment["name"]] = comment["value"] or ""
        elif line.strip():
            marks = {}
    return blocks


def check(page: Path, block: Block) -> Block:
    """Refuse what would quietly not be run: a misspelt language or comment."""
    where = f"{page}:{block.line}"
    if block.language not in RUN | NOT_RUN:
        raise PageError(f"{where}: language {block.language!r} is none of {sorted(RUN | NOT_RUN)}")
    if unknown := block.marks.keys() - MARKS:
        raise PageError(f"{where}: unknown comment {sorted(unknown)}")
    if block.marks.get("fragment") == "":
        raise PageError(f"{where}: a fragment needs a reason")
    return block


class Python:
    """One namespace and one event loop, which blocks share until a block asks for new ones."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        # As __main__, so that guards run and annotations are looked up where they were written.
        self._module = sys.modules["__main__"] = ModuleType("__main__")

    def run(self, page: Path, block: Block) -> None:
        # Moved down to its place on the page, so that errors name the line there.
        source = "\n" * (block.line - 1) + block.code
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        try:
            code = compile(source, str(page), "exec", flags=flags, dont_inherit=True)
            if code.co_flags & inspect.CO_COROUTINE:
                self._runner.run(eval(code, self._module.__dict__))
            else:
                # Outside the loop: an example may well call asyncio.run itself.
                exec(code, self._module.__dict__)
        except (Exception, SystemExit) as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == str(page)]
            line = lines[0] if lines else getattr(error, "lineno", block.line)
            raise PageError(f"{page}:{line}: {traceback.format_exc()}") from error

    def close(self) -> None:
        self._runner.close()


class Servers:
    """The servers that a page starts. Pages run at the same time, so each gets free ports."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[str]] = []
        self._ports: dict[str, str] = {}

    def start(self, page: Path, block: Block) -> None:
        self._ports[block.marks["server"]] = port = free_port()
        [(line, command, _)] = read_commands(block)
        process = subprocess.Popen(
            f"exec {self.on_own_ports(command)}",
            shell=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._processes.append(process)
        assert process.stdout is not None
        printed: list[str] = []
        for text in process.stdout:
            printed.append(text)
            if f":{port}" in text:
                break
        else:
            raise PageError(f"{page}:{line}: {command}\nended:\n{''.join(printed)}")
        threading.Thread(target=process.stdout.read, daemon=True).start()

    def on_own_ports(self, text: str) -> str:
        for port, own in self._ports.items():
            text = re.sub(rf"\b{port}\b", own, text)
        return text

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
            if process.wait(timeout=30) not in (0, -signal.SIGTERM):
                raise PageError(f"a server ended with exit {process.returncode}")


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def run_console(page: Path, block: Block, servers: Servers) -> None:
    status = int(block.marks.get("exit") or 0)
    for line, command, displayed in read_commands(block):
        where = f"{page}:{line}: {command}"
        if is_not_for_a_page(command, where) or is_export(servers.on_own_ports(command)):
            continue
        done = subprocess.run(
            servers.on_own_ports(command),
            shell=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode != status:
            raise PageError(f"{where}\nexit {done.returncode}, not {status}:\n{done.stdout}")
        if "output" in block.marks and not same_output(displayed, done.stdout):
            raise PageError(f"{where}\ndisplayed:\n{displayed}\nbut printed:\n{done.stdout}")


def read_commands(block: Block) -> list[tuple[int, str, str]]:
    """Line, command and displayed output of every `$ ` line; a final backslash continues it."""
    commands: list[tuple[int, str, str]] = []
    for line, text in enumerate(block.code.splitlines(), start=block.line):
        if text.startswith("$ "):
            commands.append((line, text[2:], ""))
        elif commands:
            first, command, displayed = commands[-1]
            if command.endswith("\\") and not displayed:
                commands[-1] = (first, f"{command}\n{text.removeprefix('> ')}", "")
            else:
                commands[-1] = (first, command, f"{displayed}{text}\n")
    return commands


def is_not_for_a_page(command: str, where: str) -> bool:
    """Commands that build or install duetime itself are checked by name instead of run."""
    if command.startswith("make "):
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        words = [word for word in command.split()[1:] if "=" not in word]
        if unknown := set(words) - set(targets):
            raise PageError(f"{where}\nthe Makefile has no target {sorted(unknown)}")
        return True
    if re.match(r"(uv )?(pip install|add|sync)\b", command):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        named = re.findall(r"duetime\[([\w,]+)\]", command)
        if unknown := set(",".join(named).split(",")) - {"", *project["optional-dependencies"]}:
            raise PageError(f"{where}\nduetime has no extra {sorted(unknown)}")
        return True
    return False


def is_export(command: str) -> bool:
    """Set a variable for the commands that follow, each of which has a shell of its own."""
    if export := re.fullmatch(r"export (\w+)=([\w.:/-]*)", command):
        os.environ[export[1]] = export[2]
    return export is not None


def same_output(displayed: str, printed: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in trimmed(displayed).split("..."))
    return re.fullmatch(pattern, trimmed(printed), re.DOTALL) is not None


def trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def run_page(page: Path, postgres_url: str | None) -> None:
    """Run all blocks of a page in the current directory; print the lines of those not run."""
    python, servers = Python(), Servers()
    for block in read_blocks(page):
        os.environ.pop("DUETIME_URL", None)
        if "postgres" in block.marks:
            if postgres_url is None:
                print(f"{page}:{block.line}: not run, needs PostgreSQL")
                continue
            os.environ["DUETIME_URL"] = postgres_url
        if "file" in block.marks:
            target = Path(block.marks["file"])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.code + "\n", encoding="utf-8")
            importlib.invalidate_caches()
        elif "append" in block.marks:
            append(page, block)
        elif "server" in block.marks:
            servers.start(page, block)
        elif block.language == "console":
            run_console(page, block, servers)
        elif block.language == "python" and "fragment" not in block.marks:
            if "new" in block.marks:
                python.close()
                python = Python()
            python.run(page, block)
    python.close()
    servers.stop()


def append(page: Path, block: Block) -> None:
    target = Path(block.marks["append"])
    if not target.is_file():
        raise PageError(f"{page}:{block.line}: there is no {target} to append to")
    with target.open("a", encoding="utf-8") as file:
        file.write(f"\n{block.code}\n")


def run_apart(
    page: Path,
    postgres_url: str | None = None,
    python: str = sys.executable,
    timeout: float = 120.0,
    *,
    again: bool = False,
    project: Path | None = None,
) -> str:
    """Run a page in a process of its own and return what the page printed. With `again`, a page
    that leaves a database behind runs a second time on that database, as its readers do. A page
    about a `project` runs in a copy of that directory."""
    with tempfile.TemporaryDirectory() as directory:
        if project is not None:
            leave_out = shutil.ignore_patterns("*.db*", "__pycache__", ".*")
            shutil.copytree(project, directory, dirs_exist_ok=True, ignore=leave_out)
        output = run_once(page, postgres_url, python, timeout, directory)
        if again and (postgres_url or any(Path(directory).rglob("*.db"))):
            try:
                output += run_once(page, postgres_url, python, timeout, directory)
            except PageError as error:
                raise PageError(f"run a second time, on the same database: {error}") from None
    return output


def run_once(
    page: Path, postgres_url: str | None, python: str, timeout: float, directory: str
) -> str:
    process = subprocess.Popen(
        [python, __file__, str(page), *([postgres_url] if postgres_url else [])],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        raise PageError(f"{page} still ran after {timeout:g} s:\n{output}") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        raise PageError(output)
    return output


def main(page: str, postgres_url: str | None = None) -> None:
    path = Path(page).resolve()
    for name in [name for name in os.environ if name.startswith("DUETIME_")]:
        del os.environ[name]
    os.environ.pop("COLUMNS", None)  # commands print whole lines, however wide a window is
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Examples import what they wrote here, and nothing that lies beside this file.
    sys.path[0] = os.getcwd()
    try:
        run_page(path, postgres_url)
    except PageError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
