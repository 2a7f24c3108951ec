"""Renders templates of this room. Whatever is put into one is escaped."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from duetime.admin.pages.icons import ICONS


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("duetime.admin.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["icons"] = ICONS
    return made


def rendered(template: str, values: dict[str, object]) -> str:
    return environment().get_template(template).render(values)
