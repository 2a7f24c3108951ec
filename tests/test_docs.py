"""Every example in the documentation runs (how: see run_page.py)."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import run_page

ROOT = run_page.ROOT
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TIMEOUT = 60.0


def run(page: Path, postgres_url: str | None = None, timeout: float = TIMEOUT) -> str:
    """Run a page in a process of its own; what it leaves running ends with it."""
    command = [
        sys.executable,
        run_page.__file__,
        str(page),
        *([postgres_url] if postgres_url else []),
    ]
    process = subprocess.Popen(
        command,
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
        pytest.fail(f"{page} still ran after {timeout} s:\n{output}", pytrace=False)
    if process.returncode:
        pytest.fail(output, pytrace=False)
    return output


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path, request: pytest.FixtureRequest) -> None:
    reason = url = None
    if any("postgres" in block.marks for block in run_page.read_blocks(page)):
        try:
            url = request.getfixturevalue("postgres_url")
        except pytest.skip.Exception as skipped:
            reason = skipped.msg
    output = run(page, url)
    if reason:
        # What needs no server has run and passed; the rest is named.
        pytest.skip(f"{reason}\n{output}")


def test_few_blocks_are_kept_from_running() -> None:
    blocks = [block for page in PAGES for block in run_page.read_blocks(page)]
    assert sum("fragment" in block.marks for block in blocks) <= 6


def page_of(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "page.md"
    page.write_text(text)
    return page


GOOD = """
<!-- file: greeting.py -->
```python
WORD = "hello"
```

```python
import asyncio, os
import greeting
assert not any(name.startswith("DUETIME_") for name in os.environ)
word: str = await asyncio.sleep(0, greeting.WORD)
```

```python
assert word == "hello"
asyncio.run(asyncio.sleep(0))
```

<!-- new -->
```python
assert "word" not in globals()
assert __name__ == "__main__"
```

<!-- fragment: stands for any program -->
```python
this_is_not_defined
```

<!-- output -->
```console
$ echo one two \\
> three
one ... three
$ python -c 'import greeting; print(greeting.WORD)'
hello
$ make check
$ pip install 'duetime[postgres,cli]'
```

<!-- exit: 3 -->
```console
$ exit 3
```
"""


def test_a_good_page_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUETIME_TENANT", "left over")
    assert run(page_of(tmp_path, GOOD)) == ""


BAD = {
    "an error": ("\n```python\n1\n1 / 0\n```", 'page.md", line 4'),
    "an error after await": (
        "```python\nimport asyncio\nawait asyncio.sleep(0)\n1 / 0\n```",
        "line 4",
    ),
    "a status": ("```console\n$ true\n$ false\n```", "page.md:3: false\nexit 1, not 0"),
    "another output": ("<!-- output -->\n```console\n$ echo 1\n2\n```", "but printed:\n1"),
    "no such target": ("```console\n$ make coffee\n```", "no target ['coffee']"),
    "no such extra": ("```console\n$ pip install duetime[gold]\n```", "no extra ['gold']"),
    "a misspelt language": ("```pyhton\n```", "page.md:2: language"),
    "a misspelt comment": ("<!-- outptu -->\n```console\n```", "page.md:3: unknown comment"),
    "no reason": ("<!-- fragment -->\n```python\n```", "page.md:3: a fragment needs a reason"),
    "no end": ("\n```python\n", "page.md:2: the block never ends"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_page_fails_and_names_the_line(tmp_path: Path, name: str) -> None:
    text, message = BAD[name]
    with pytest.raises(pytest.fail.Exception) as failure:
        run(page_of(tmp_path, text))
    assert message in str(failure.value)


def test_a_page_that_hangs_is_ended(tmp_path: Path) -> None:
    page = page_of(tmp_path, "```python\nimport threading\nthreading.Event().wait()\n```")
    with pytest.raises(pytest.fail.Exception, match="still ran after"):
        run(page, timeout=1.0)


def test_postgres_blocks_get_a_database(tmp_path: Path, postgres_url: str) -> None:
    block = "```python\nimport os\nassert os.environ['DUETIME_URL'].startswith('postgres')\n```"
    page = page_of(tmp_path, f"<!-- postgres -->\n{block}")
    assert run(page, postgres_url) == ""
    assert "page.md:3: not run, needs PostgreSQL" in run(page)
