"""Kinds: the allowlist between wire names and payload types, and their JSON codec.

Only a registered type is ever built from stored data, and only from data that pydantic
validated. Nothing is imported by a name that was read from a store.

Pydantic is imported when the first type is registered, not before: its import takes as long as
that of all the rest of duetime.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any

from duetime.errors import ConfigError, InvalidArgument, InvalidPayload, UnknownKind
from duetime.model.actions.action import Action, Record, as_action, as_clamped_action
from duetime.model.columns import ConstantColumn, is_constant
from duetime.model.payloads.codec import named_cause, written_alone, written_many
from duetime.model.payloads.errors import reason, stored_payload_remedy
from duetime.model.payloads.secrets import MASK, has_secret_fields, secret_values
from duetime.model.payloads.untyped import UntypedFields, untyped_fields
from duetime.model.validation import check_name

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# The deepest nesting that is shown as data: Python refuses to read or write much more.
MAX_SHOWN_DEPTH = 100
BRACKET = re.compile(r"[\[\]{}]")

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class PayloadType:
    """A payload type, its kind, and the upgrades of its stored versions."""

    kind: str
    type: type[Any]
    version: int
    aliases: tuple[str, ...]
    upgrades: Mapping[int, Upgrade]
    queue: str
    adapter: TypeAdapter[Any] = field(repr=False)
    # What must come back equal; None for a type without untyped parts, which costs nothing then.
    untyped: UntypedFields | None = field(default=None, repr=False)
    # Whether it has fields that are masked outside handlers; most types have none.
    secret: bool = False

    def secrets_of(self, payload: object) -> list[str | bytes]:
        """Return the values of the secret fields of a payload of this type."""
        if not self.secret:
            return []
        return list(secret_values(self.adapter.dump_python(payload, warnings=False)))


class Payloads:
    """The registry of one app's payload types."""

    def __init__(self) -> None:
        self._by_kind: dict[str, PayloadType] = {}
        self._by_type: dict[type[Any], PayloadType] = {}
        self._of_many: dict[type[Any], TypeAdapter[Any]] = {}
        # Whether any type has secret fields: faster to ask before each run than its own type.
        self.some_secret = False

    def add(
        self,
        type_: type[Any],
        *,
        kind: str | None = None,
        aliases: Iterable[str] = (),
        version: int | None = None,
        upgrades: Mapping[int, Upgrade] | None = None,
        queue: str | None = None,
    ) -> PayloadType:
        """Register a type, or extend its registration by the given arguments."""
        entry = self.check(
            type_, kind=kind, aliases=aliases, version=version, upgrades=upgrades, queue=queue
        )
        self.keep(entry)
        return entry

    def check(
        self,
        type_: type[Any],
        *,
        kind: str | None,
        aliases: Iterable[str],
        version: int | None,
        upgrades: Mapping[int, Upgrade] | None,
        queue: str | None,
    ) -> PayloadType:
        """Return the entry that `add` would register. ConfigError if it cannot."""
        known = self._by_type.get(type_)
        if kind is None and known is None:
            raise ConfigError(
                f"{getattr(type_, '__qualname__', type_)} has no kind: give kind=..., its "
                "name in the store, which stays when the class is renamed"
            )
        if queue is None:
            queue = known.queue if known else "default"
        if version is None:
            version = known.version if known else 1
        adapter = _adapter(type_)
        entry = PayloadType(
            kind=check_name("kind", known.kind if kind is None and known else kind, 200),
            type=_payload_class(type_),
            version=version,
            aliases=_aliases(aliases, known),
            upgrades=dict(upgrades or (known.upgrades if known else {})),
            queue=check_name("queue", queue, 200),
            adapter=adapter,
            untyped=untyped_fields(adapter.core_schema),
            secret=has_secret_fields(adapter.core_schema),
        )
        _check_upgrades(entry)
        self._refuse_clash(entry)
        return entry

    def check_job(self, name: str, type_: type[Any], queue: str | None) -> PayloadType:
        """Return the entry of a job, whose kind is its name. Several jobs may share a type."""
        other = self._by_kind.get(name)
        if other is not None:
            known = other.type.__qualname__
            raise ConfigError(f"{name!r} is already the kind of {known}; rename the job")
        adapter = _adapter(type_)
        return PayloadType(
            kind=check_name("name", name, 200),
            type=type_ if type_ is NoneType else _payload_class(type_),
            version=1,
            aliases=(),
            upgrades={},
            queue=check_name("queue", "default" if queue is None else queue, 200),
            adapter=adapter,
            untyped=untyped_fields(adapter.core_schema),
            secret=has_secret_fields(adapter.core_schema),
        )

    def keep_job(self, entry: PayloadType) -> None:
        self._by_kind[entry.kind] = entry
        self.some_secret = self.some_secret or entry.secret

    def keep(self, entry: PayloadType) -> None:
        for name in (entry.kind, *entry.aliases):
            self._by_kind[name] = entry
        self._by_type[entry.type] = entry
        self.some_secret = self.some_secret or entry.secret

    def _refuse_clash(self, entry: PayloadType) -> None:
        for name in (entry.kind, *entry.aliases):
            other = self._by_kind.get(name)
            if other is not None and other.type is not entry.type:
                raise ConfigError(_clash(name, other.type, entry.type))
        known = self._by_type.get(entry.type)
        if known is not None and known.kind != entry.kind:
            raise ConfigError(
                f"{entry.type.__qualname__} is already registered as kind {known.kind!r}; "
                f"use that kind, or add {entry.kind!r} to its aliases"
            )

    def tables(self) -> list[dict[Any, Any]]:
        """Return what changes when a payload type is added."""
        return [self._by_kind, self._by_type]

    def kinds(self) -> list[str]:
        """Return every kind that this app can decode, aliases included."""
        return sorted(self._by_kind)

    def schedulable(self) -> list[PayloadType]:
        """Return the entries whose payloads can be scheduled, by kind: not those of jobs."""
        return sorted(self._by_type.values(), key=lambda entry: entry.kind)

    def find(self, kind: str) -> PayloadType | None:
        """Return the entry of a kind or alias; None if it is unknown."""
        return self._by_kind.get(kind)

    def knows(self, kind: str, version: int) -> bool:
        entry = self._by_kind.get(kind)
        return entry is not None and entry.version >= version

    def wire_name(self, kind: str) -> str:
        """Return the current kind of a name: the name itself, unless it is an alias."""
        entry = self._by_kind.get(kind)
        return kind if entry is None else entry.kind

    def named(self, kind: str) -> PayloadType:
        entry = self._by_kind.get(kind)
        if entry is None:
            raise UnknownKind(kind, self._by_kind)
        return entry

    def of(self, payload: object) -> PayloadType:
        entry = self._by_type.get(type(payload))
        if entry is None:
            known = [t.__qualname__ for t in self._by_type]
            raise UnknownKind(type(payload).__qualname__, known, _mistake(payload))
        return entry

    def encode_many(
        self, payloads: Sequence[object], limit: int
    ) -> tuple[Sequence[PayloadType], Sequence[str]]:
        """Validate and encode payloads. A payload that cannot be read back is refused now, not when
        it is due."""
        types = [*map(type, payloads)]
        if is_constant(types):
            # The common case: grouping by type and restoring the order costs a tenth of the time.
            entry = self.of(payloads[0])
            return ConstantColumn(entry, len(payloads)), self._written(entry, payloads, limit)
        samples = dict(zip(types, payloads, strict=True))
        known = {type_: self.of(payload) for type_, payload in samples.items()}
        entries = [known[type_] for type_ in types]
        texts = {
            type_: iter(self._written(entry, [x for x in payloads if type(x) is type_], limit))
            for type_, entry in known.items()
        }
        return entries, [next(texts[type_]) for type_ in types]

    def _written(self, entry: PayloadType, payloads: Sequence[object], limit: int) -> list[str]:
        if entry.type not in self._of_many:
            self._of_many[entry.type] = _adapter(list[entry.type])  # type: ignore[name-defined]
        return written_many(entry, self._of_many[entry.type], payloads, limit)

    def encode(self, payload: object, limit: int) -> tuple[PayloadType, str]:
        entry = self.of(payload)
        return entry, written_alone(entry, payload, limit)

    def encode_as(self, kind: str, payload: object, limit: int) -> tuple[int, str]:
        """Return the version and the text of a payload of this kind, which may be that of a job."""
        entry = self.named(kind)
        if type(payload) is not entry.type:
            remedy = f"the kind {kind!r} takes an instance of {entry.type.__qualname__}"
            raise InvalidArgument("payload", payload, remedy)
        return entry.version, written_alone(entry, payload, limit)

    def decode(self, kind: str, version: int, text: str) -> Any:
        """Return the typed payload of stored data, upgraded from the version it was written in."""
        entry = self.named(kind)
        try:
            if version == entry.version:
                return entry.adapter.validator.validate_json(text)
            return entry.adapter.validate_python(_upgraded(entry, version, json.loads(text)))
        except Exception as error:  # noqa: BLE001 - raised as InvalidPayload
            cause = error.reason if isinstance(error, InvalidPayload) else reason(error)
            invalid = InvalidPayload(kind, f"{cause}; {self._remedy(entry, version)}")
            raise invalid from named_cause(entry, error)

    def parse(self, kind: str, text: str) -> Any:
        """Return the typed payload of JSON in the current version, as users write it."""
        entry = self.named(kind)
        try:
            return entry.adapter.validator.validate_json(text)
        except Exception as error:  # noqa: BLE001 - raised as InvalidPayload
            raise InvalidPayload(kind, reason(error)) from named_cause(entry, error)

    def _remedy(self, entry: PayloadType, stored: int) -> str:
        # Kinds of jobs and subscribers are not registered by type.
        versioned = self._by_type.get(entry.type) is entry
        name = entry.type.__qualname__
        return stored_payload_remedy(name, stored, entry.version, versioned=versioned)

    def shown(self, kind: str, version: int, text: str) -> object:
        """Return the typed payload, or plain data if this process cannot decode it."""
        if not self.knows(kind, version):
            return from_json(text)
        try:
            return self.decode(kind, version, text)
        except InvalidPayload:
            # Which of the data are secret cannot be told.
            return MASK if self.named(kind).secret else from_json(text)

    def action(self, record: Record) -> Action:
        """Return a record as the Action that users see."""
        payload = self.shown(record.kind, record.version, record.payload)
        values = payload, maybe_json(record.result), maybe_json(record.progress)
        try:
            return as_action(record, *values)
        except (LookupError, OverflowError):
            return as_clamped_action(record, *values)


def from_json(text: str) -> object:
    """Return stored data; the text itself if it is not JSON, or nested more deeply than can be
    written again, so that one bad row does not break a whole page."""
    # A text with no more brackets than that cannot be nested too deeply.
    brackets = text.count("[") + text.count("{")
    if brackets > MAX_SHOWN_DEPTH and _depth(text) > MAX_SHOWN_DEPTH:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _depth(text: str) -> int:
    """Return how deeply the text is nested, counting brackets inside strings, too."""
    depth = deepest = 0
    for bracket in BRACKET.findall(text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def maybe_json(text: str | None) -> object:
    return None if text is None else from_json(text)


def _aliases(aliases: Iterable[str], known: PayloadType | None) -> tuple[str, ...]:
    if isinstance(aliases, str):
        raise ConfigError(f"aliases={aliases!r} is a string; write aliases=[{aliases!r}]")
    names = dict.fromkeys(known.aliases if known else ())
    return tuple(names | dict.fromkeys(check_name("aliases", a, 200) for a in aliases))


def _payload_class(type_: type[Any]) -> type[Any]:
    if is_data(type_):
        return type_
    raise ConfigError(
        f"{type_!r} cannot be a payload: use a dataclass or a pydantic model, "
        "so that its data is validated when it is scheduled"
    )


def is_data(type_: Any) -> bool:
    """Return whether a type is a dataclass or a pydantic model."""
    from pydantic import BaseModel

    return isinstance(type_, type) and (is_dataclass(type_) or issubclass(type_, BaseModel))


def _clash(kind: str, first: type[Any], second: type[Any]) -> str:
    if first.__qualname__ == second.__qualname__:
        return (
            f"kind {kind!r} already means another class named {first.__qualname__}: it was "
            "defined twice (a module or a cell ran twice); create the app again after it"
        )
    return (
        f"kind {kind!r} already means {first.__qualname__}; give {second.__qualname__} another kind"
    )


def _mistake(payload: object) -> str | None:
    """Return the remedy for a value that can never be a payload; else None."""
    if isinstance(payload, type):
        return f"you passed the class {payload.__qualname__}: pass an instance of it"
    if callable(payload) and not is_dataclass(payload):
        return "you passed a function: pass the payload of its first parameter"
    if type(payload).__module__ == "builtins":
        return "pass an instance of a dataclass or pydantic model that a handler takes"
    return None


def _adapter(type_: type[Any]) -> TypeAdapter[Any]:
    from pydantic import PydanticUserError, TypeAdapter

    try:
        return TypeAdapter(type_)
    except PydanticUserError as error:
        raise ConfigError(
            f"{type_.__qualname__} cannot be a payload: {str(error).splitlines()[0]}"
        ) from error


def _check_upgrades(entry: PayloadType) -> None:
    if entry.version < 1:
        raise ConfigError(f"version of kind {entry.kind!r} is {entry.version}; versions start at 1")
    wrong = [v for v in entry.upgrades if not 1 <= v < entry.version]
    if wrong:
        raise ConfigError(
            f"upgrades of kind {entry.kind!r} name version {wrong[0]}, but it is at version "
            f"{entry.version}: upgrades={{1: f}} makes version 2 from version 1"
        )


def _upgraded(entry: PayloadType, version: int, data: Any) -> Any:
    """Return data upgraded to the current version. A version without an upgrade function relies on
    validation alone."""
    if version < 1:
        raise InvalidPayload(entry.kind, f"its version is {version}, but versions start at 1")
    # Not every number up to the current version is tried: the stored one may be damaged.
    for step in sorted(step for step in entry.upgrades if step >= version):
        try:
            data = entry.upgrades[step](data)
        except Exception as error:  # noqa: BLE001 - raised as InvalidPayload
            # Its text may quote the data.
            text = type(error).__name__ if entry.secret else repr(error)
            invalid = InvalidPayload(entry.kind, f"upgrade from version {step} failed: {text}")
            raise invalid from named_cause(entry, error)
    return data
