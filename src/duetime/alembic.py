"""Alembic: autogenerate leaves the tables of duetime's store alone, and migrations need no duetime.

Alembic 1.18 and newer load this module as a plugin, by the entry point in `pyproject.toml`: env.py
needs nothing. With an older Alembic, env.py passes `include_name` and `render_item` itself.

Alembic and SQLAlchemy are imported inside functions: Alembic loads its plugins while it is itself
being imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from duetime.errors import ConfigError, shown
from duetime.logs import get_log
from duetime.store.sql.statements.table_names import (
    DEFAULT_PREFIX,
    TABLE_PLACEHOLDERS,
    TableNames,
)

if TYPE_CHECKING:
    from alembic.autogenerate.api import AutogenContext
    from alembic.operations.ops import MigrateOperation, UpgradeOps
    from alembic.runtime.plugins import Plugin
    from alembic.util import PriorityDispatchResult

# Alembic lists the words that the second and third argument may hold.
IncludeName = Callable[[str | None, Any, Any], bool]
RenderItem = Callable[[str, Any, Any], str | Literal[False]]

# The name of our entry point. Alembic uses the plugins of this namespace unless env.py says which.
PLUGIN_NAME = "alembic.autogenerate.duetime"
# A store with a prefix of its own is recognised by these tables, which its first migration made.
FIRST_TABLES = ("actions", "history", "runs", "audit", "workers", "migrations", "store")

log = get_log(PLUGIN_NAME)


# -- the names -----------------------------------------------------------------------


def store_tables(prefix: str) -> set[str]:
    """Return the names of all tables of a store with this prefix. ConfigError for a bad prefix."""
    names = TableNames(prefix)
    return {names.prefix + _bare(placeholder) for placeholder in TABLE_PLACEHOLDERS}


def found_store_tables(names: set[str]) -> set[str]:
    """Return the names that are tables of a store: with the default prefix, or with any prefix
    under which all tables of a store's first migration are there."""
    found = names & store_tables(DEFAULT_PREFIX)
    for name in names:
        prefix = name.removesuffix(FIRST_TABLES[0])
        if re.fullmatch(r"\w+", prefix) and {prefix + table for table in FIRST_TABLES} <= names:
            found |= {prefix + _bare(table) for table in TABLE_PLACEHOLDERS} & names
    return found


def _bare(placeholder: str) -> str:
    return placeholder.removeprefix(DEFAULT_PREFIX)


# -- for env.py ----------------------------------------------------------------------


def make_include_name(
    *, prefix: str = DEFAULT_PREFIX, also: IncludeName | None = None
) -> IncludeName:
    """Return an `include_name` for `context.configure`, which excludes the tables of a store with
    this prefix, in whichever schema. `also` is an `include_name` of yours that must agree."""
    if not isinstance(prefix, str):
        raise ConfigError(f"prefix={shown(prefix)} is not valid: give the text of Duetime(prefix=)")
    if also is not None and not callable(also):
        raise ConfigError(
            f"also={shown(also)} is not a function: give your own include_name(name, type_, "
            "parent_names)"
        )
    excluded = store_tables(prefix)

    def include_name(name: str | None, type_: str, parent_names: Mapping[str, Any]) -> bool:
        if type_ == "table" and name in excluded:
            return False
        return also is None or also(name, type_, parent_names)

    return include_name


include_name = make_include_name()


def render_item(type_: str, item: Any, autogen_context: AutogenContext) -> str | Literal[False]:
    """Write the column type of transitions into a migration as SQLAlchemy's own: a migration must
    run for ever, with any version of duetime or none."""
    from duetime.transitions.timestamps import Instant

    if type_ != "type" or not isinstance(item, Instant):
        return False
    return f"{autogen_context.opts.get('sqlalchemy_module_prefix') or ''}DateTime(timezone=True)"


# -- the plugin ----------------------------------------------------------------------


def setup(plugin: Plugin) -> None:
    """Called by Alembic."""
    from alembic.util import DispatchPriority

    first, last = DispatchPriority.FIRST, DispatchPriority.LAST
    plugin.add_autogenerate_comparator(_render_types, "autogenerate", priority=first)
    plugin.add_autogenerate_comparator(_overlook_store, "autogenerate", priority=first)
    plugin.add_autogenerate_comparator(_leave_stores_alone, "autogenerate", priority=last)


def _render_types(
    autogen_context: AutogenContext, upgrade_ops: UpgradeOps
) -> PriorityDispatchResult:
    """Render our column type wherever env.py's own `render_item` does not."""
    from alembic.util import PriorityDispatchResult

    theirs: RenderItem | None = autogen_context.opts.get("render_item")

    def render(type_: str, item: Any, context: Any) -> str | Literal[False]:
        rendered = theirs(type_, item, context) if theirs is not None else False
        return render_item(type_, item, context) if rendered is False else rendered

    autogen_context.opts["render_item"] = render
    return PriorityDispatchResult.CONTINUE


def _overlook_store(
    autogen_context: AutogenContext, upgrade_ops: UpgradeOps
) -> PriorityDispatchResult:
    """Keep Alembic from looking at a store with the default prefix, so that it does not report
    thirty removed tables and indexes. Alembic has no public way to add a filter: without this one
    the store is found in the end, like one with another prefix."""
    from alembic.util import PriorityDispatchResult

    filters: list[IncludeName] | None = getattr(autogen_context, "_name_filters", None)
    if filters is not None:
        filters.append(include_name)
    return PriorityDispatchResult.CONTINUE


def _leave_stores_alone(
    autogen_context: AutogenContext, upgrade_ops: UpgradeOps
) -> PriorityDispatchResult:
    """Remove the operations that would drop a store's tables. They are in no model's metadata, so
    that Alembic takes them for removed."""
    from alembic.util import PriorityDispatchResult

    stores: set[tuple[str | None, str]] = set()
    for schema, names in _dropped_tables(upgrade_ops.ops).items():
        stores |= {(schema, name) for name in found_store_tables(names)}
    upgrade_ops.ops[:] = [op for op in upgrade_ops.ops if _table_of(op) not in stores]
    if stores:
        names_ = ", ".join(sorted(name for _, name in stores))
        log.info("Left alone the tables of duetime's store: %s", names_)
    return PriorityDispatchResult.CONTINUE


def _dropped_tables(operations: Iterable[MigrateOperation]) -> dict[str | None, set[str]]:
    from alembic.operations.ops import DropTableOp

    dropped: dict[str | None, set[str]] = {}
    for op in operations:
        if isinstance(op, DropTableOp):
            dropped.setdefault(op.schema, set()).add(op.table_name)
    return dropped


def _table_of(op: MigrateOperation) -> tuple[str | None, str] | None:
    name = getattr(op, "table_name", None)
    return None if name is None else (getattr(op, "schema", None), name)
