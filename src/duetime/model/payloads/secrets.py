"""Secret fields of payloads: stored as they are, given to handlers, and masked everywhere else.

A secret field is one of a type whose values hide themselves: `Secret`, or pydantic's `SecretStr`,
`SecretBytes` and `Secret[...]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MASK = "**********"


class Secret:
    """A text that shows itself as stars: the type of a payload's field for tokens and passwords.

    `get_secret_value()` returns it. pydantic's `SecretStr` serves as well.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def get_secret_value(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __str__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:
        from pydantic_core import core_schema

        text = core_schema.no_info_after_validator_function(cls, core_schema.str_schema())
        return core_schema.json_or_python_schema(
            json_schema=text,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), text]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                str, when_used="json-unless-none"
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: object, handler: object) -> dict[str, object]:
        return {"type": "string", "format": "password", "writeOnly": True}


def is_secret_type(type_: object) -> bool:
    return isinstance(type_, type) and hasattr(type_, "get_secret_value")


def has_secret_fields(schema: Any) -> bool:
    """Return whether a schema of pydantic has a part of a secret type."""
    waiting, seen = [schema], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Mapping):
            if part.get("type") == "is-instance" and is_secret_type(part.get("cls")):
                return True
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
    return False


def unmasked(written: Any, plain: Any) -> Any:
    """Return JSON data with the secrets of the payload in place of their masks. `plain` is the
    payload as pydantic dumps it for Python, where secrets are objects. ValueError if one of them is
    a mask itself, or if both cannot be matched."""
    if is_secret_type(type(plain)):
        return _secret_data(plain)
    if isinstance(plain, Mapping) and isinstance(written, dict) and len(plain) == len(written):
        pairs = zip(written.items(), plain.values(), strict=True)
        return {key: unmasked(part, value) for (key, part), value in pairs}
    if isinstance(plain, list | tuple | set | frozenset) and isinstance(written, list):
        return [unmasked(part, value) for part, value in zip(written, plain, strict=True)]
    if any(True for _ in secret_values(plain)):
        raise ValueError("its secret fields are written by a serializer of its own: remove that")
    return written


def _secret_data(secret: Any) -> Any:
    from pydantic_core import to_jsonable_python

    value = secret.get_secret_value()
    if value in (MASK, MASK.encode()):
        raise ValueError("a secret field holds the stars that stand for it: give the secret itself")
    return to_jsonable_python(value)


def secret_values(plain: Any) -> Iterator[str | bytes]:
    """Yield the texts of all secrets in a payload as pydantic dumps it for Python."""
    if is_secret_type(type(plain)):
        value = plain.get_secret_value()
        yield value if isinstance(value, str | bytes) else str(value)
    elif isinstance(plain, Mapping):
        for part in plain.values():
            yield from secret_values(part)
    elif isinstance(plain, list | tuple | set | frozenset):
        for part in plain:
            yield from secret_values(part)
