"""Loads the app that `module:app` names."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from inspect import isroutine
from types import ModuleType

import typer

from duetime.app import Duetime
from duetime.cli.failures import CommandError
from duetime.cli.server import chosen_server
from duetime.errors import did_you_mean

# Names the app where a command line names none.
APP_VARIABLE = "DUETIME_APP"
KIND_NEEDS_APP = "only a declared kind can be scheduled"


def named_app(app: str | None, url: str | None = None) -> str | None:
    """Return the name of the app that a command is for: the given one, or that of DUETIME_APP if
    neither an app nor a store is given."""
    if app is not None or url is not None:
        return app
    return os.environ.get(APP_VARIABLE) or None


def either_app(argument: str | None, option: str | None) -> str | None:
    """Return the app of a command that takes it as an argument and as an option."""
    if argument is not None and option is not None:
        raise typer.BadParameter("name the app once: as the argument or with --app")
    return argument if option is None else option


def required_app(app: str | None, reason: str, which: str = "the app") -> str:
    """Return the name of the app; a CommandError with the reason if there is none."""
    name = named_app(app)
    if name is None:
        raise CommandError(
            f"{reason}: name {which} with --app module:app or {APP_VARIABLE}=module:app"
        )
    return name


def kind_app(app: str | None, which: str) -> str | None:
    """Return the name of the app that declares a kind; None where a server has it."""
    if chosen_server() is not None:
        return app
    return required_app(app, KIND_NEEDS_APP, which)


def load_app(name: str) -> Duetime:
    """Return the Duetime at `module:app`; modules in the current directory can be imported."""
    module_name, path = module_and_path(name)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return _app_in(_module(module_name, path), path)


def module_and_path(name: str) -> tuple[str, str]:
    module_name, colon, path = name.partition(":")
    if not colon or not module_name or not path:
        raise typer.BadParameter(
            f"{name!r} names no app: write module:app, such as myshop.main:app"
        )
    return module_name, path


def _module(name: str, path: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a module may raise anything, SystemExit too
        raise _broken(name, path, error) from None


def _broken(name: str, path: str, error: BaseException) -> CommandError:
    if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
        return CommandError(
            f"there is no module {error.name!r} in {os.getcwd()} or among installed packages"
            f"{_file_hint(name, path)}"
        )
    if isinstance(error, TypeError | ValueError) and name.startswith("."):
        return CommandError(
            f"{name!r} is relative: write the module's full name{_file_hint(name, path)}"
        )
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return CommandError(f"importing {name!r} failed: {message}{_where(error)}")


def _file_hint(name: str, path: str) -> str:
    """A hint to write the module's name if a file name was given."""
    if not name.endswith(".py"):
        return ""
    module = name.removesuffix(".py").removeprefix("./").replace("/", ".")
    return f"; did you mean {module}:{path}?"


def _where(error: BaseException) -> str:
    """The last line of the user's own code in the traceback, such as ` (shop.py, line 3)`."""
    if isinstance(error, SyntaxError):
        return ""  # its message names the line
    frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_users(f.filename)]
    return f" ({_short(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""


def _is_users(file: str) -> bool:
    ours = os.path.dirname(os.path.dirname(__file__))
    foreign = (ours, os.path.dirname(os.__file__), "<frozen")
    return not file.startswith(foreign) and "site-packages" not in file


def _short(file: str) -> str:
    return os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file


def _app_in(module: ModuleType, path: str) -> Duetime:
    found: object = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise CommandError(f"module {module.__name__!r} has no {path!r}{_hint(module, path)}")
        found = getattr(found, part)
    if not isinstance(found, Duetime):
        raise CommandError(f"{module.__name__}:{path} {_other(found, module, path)}")
    return found


def _other(found: object, module: ModuleType, path: str) -> str:
    hint = _hint(module, path)
    if isinstance(found, type):
        return f"is a class, not a Duetime{hint}"
    if not isroutine(found):
        return f"is of type {type(found).__name__}, not a Duetime{hint}"
    call = f"; write a module-level app = {path}(), and name {module.__name__}:app"
    return f"is a function, not a Duetime{hint or call}"


def _hint(module: ModuleType, path: str) -> str:
    apps = [name for name, value in vars(module).items() if isinstance(value, Duetime)]
    if len(apps) == 1:
        return f"; its app is {module.__name__}:{apps[0]}"
    return did_you_mean(path, apps)
