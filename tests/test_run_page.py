"""The runner of documentation pages detects broken examples."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from run_page import PageError, run_apart


def page_of(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "page.md"
    page.write_text(text)
    return page


GOOD = """
<!-- file: greeting.py -->
```python
WORD = "HELLO"
```

<!-- append: greeting.py -->
```python
WORD = WORD.lower()
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
    assert run_apart(page_of(tmp_path, GOOD)) == ""


BAD = {
    "an error": ("\n```python\n1\n1 / 0\n```", "page.md:4: "),
    "an error in await": ("```python\nasync def f(): 1 / 0\nawait f()\n```", "page.md:3: "),
    "no python": ("```python\n1\nif\n```", "page.md:3: "),
    "an exit": ("```python\nraise SystemExit\n```", "page.md:2: "),
    "a status": ("```console\n$ true\n$ false\n```", "page.md:3: false\nexit 1, not 0"),
    "another output": ("<!-- output -->\n```console\n$ echo 1\n2\n```", "but printed:\n1"),
    "no such target": ("```console\n$ make coffee\n```", "no target ['coffee']"),
    "no such extra": ("```console\n$ pip install duetime[gold]\n```", "no extra ['gold']"),
    "a misspelt language": ("```pyhton\n```", "page.md:2: language"),
    "a misspelt comment": ("<!-- outptu -->\n```console\n```", "page.md:3: unknown comment"),
    "no reason": ("<!-- fragment -->\n```python\n```", "page.md:3: a fragment needs a reason"),
    "nothing to add to": ("<!-- append: a.py -->\n```python\n```", "page.md:3: there is no a.py"),
    "no end": ("\n```python\n", "page.md:2: the block never ends"),
    "a server that ends": (
        "<!-- server: 8000 -->\n```console\n$ echo no app\n```",
        "page.md:3: echo no app\nended:\nno app",
    ),
    "a second run": (
        "```python\nopen('shop.db', 'x')\n```",
        "run a second time, on the same database: ",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_page_fails_and_names_the_line(tmp_path: Path, name: str) -> None:
    text, message = BAD[name]
    with pytest.raises(PageError) as failure:
        run_apart(page_of(tmp_path, text), again=True)
    assert message in str(failure.value)


def test_a_page_that_hangs_is_ended(tmp_path: Path) -> None:
    page = page_of(tmp_path, "```python\nimport threading\nthreading.Event().wait()\n```")
    with pytest.raises(PageError, match="still ran after"):
        run_apart(page, timeout=1.0)


def test_without_a_database_it_is_run_once(tmp_path: Path) -> None:
    assert run_apart(page_of(tmp_path, "```python\nprint(1)\nopen('notes', 'x')\n```")) == "1\n"


def test_postgres_blocks_get_a_database(tmp_path: Path, postgres_url: str) -> None:
    block = "```python\nimport os\nassert os.environ['DUETIME_URL'].startswith('postgres')\n```"
    page = page_of(tmp_path, f"<!-- postgres -->\n{block}")
    assert run_apart(page, postgres_url) == ""
    assert "page.md:3: not run, needs PostgreSQL" in run_apart(page)


SERVED = """
```console
$ echo hello > note
$ export NOTE=note
```

<!-- server: 8000 -->
```console
$ python -u -m http.server 8000
```

<!-- output -->
```console
$ curl -s "localhost:8000/$NOTE"
hello
$ echo 80000
80000
```

```console
$ export AT=127.0.0.1:8000
```

```python
import os, urllib.request
assert os.environ["AT"] != "127.0.0.1:8000"
assert urllib.request.urlopen(f"http://{os.environ['AT']}/note").read() == b"hello\\n"
```
"""


def test_a_server_runs_until_the_page_ends_on_a_port_of_its_own(tmp_path: Path) -> None:
    """Two pages that name the same port may run at the same time."""
    page = page_of(tmp_path, SERVED)
    with ThreadPoolExecutor() as pool:
        assert [*pool.map(run_apart, [page, page])] == ["", ""]


def test_a_page_about_a_project_runs_in_a_copy_of_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "shop.py").write_text("NAME = 'shop'")
    (project / "shop.db").touch()
    program = (
        "import os, shop\nassert {*os.listdir()} - {'__pycache__'} == {'shop.py'}\nopen('new', 'x')"
    )
    page = page_of(tmp_path, f"```python\n{program}\n```")
    assert run_apart(page, project=project) == ""
    assert not (project / "new").exists()
