"""One-time links and sessions of pages, for all SQL stores."""

from __future__ import annotations

from abc import ABC
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from duetime.errors import InvalidArgument
from duetime.model.access.api_keys import refuse_ended_key
from duetime.model.access.identity import Identity
from duetime.model.access.sessions import (
    LINK_LIFETIME,
    SESSION_IDLE,
    SessionUse,
    StoredLink,
    StoredSession,
    session_end,
    session_snapshot,
)
from duetime.model.act import Act
from duetime.model.ids import NewId
from duetime.model.tenant import ANY
from duetime.store.base import Store
from duetime.store.flow import Mode, Row, Statement, Steps, flow
from duetime.store.sql.flows.access import joined_grants, lock_api_key
from duetime.store.sql.flows.audit import AuditRow, audit_row, insert_audit
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.flows.column_reader import ColumnReader, readable_text
from duetime.store.sql.statements.bulk_rows import json_param, refuse_unstorable


class SessionFlows(Store, ABC):
    """Flows of one-time links and sessions, and the audit log of them."""

    _ids: NewId

    @flow()
    def add_link(self, new: StoredLink, act: Act) -> Steps[StoredLink]:
        now = yield from clock()
        link = replace(new, created_at=now, expires_at=now + LINK_LIFETIME)
        yield Statement("links_expire", {"now": now})
        params = {"id": str(link.id), "secret_hash": link.secret_hash}
        yield Statement("links_add", params | {"now": now, "expires_at": link.expires_at})
        entry = audit_row(self._ids(), None, str(link.id), {}, {"expires_at": link.expires_at})
        yield insert_audit("create", act, now, [entry], subject="link")
        return link

    @flow(Mode.single)
    def take_link(self, link_id: UUID, secret_hash: str) -> Steps[StoredLink | None]:
        params = {"id": str(link_id), "secret_hash": secret_hash}
        found = cast("Any", (yield Statement("links_take", params)))
        return _link(found[0]) if found else None

    @flow()
    def add_session(self, new: StoredSession, act: Act) -> Steps[StoredSession]:
        now = yield from clock()
        key = None if new.api_key is None else (yield from lock_api_key(new.api_key, ANY))
        if key is not None:
            refuse_ended_key(key, now)
        end = session_end(now, None if key is None else key.expires_at)
        session = replace(new, created_at=now, seen_at=now, expires_at=end)
        yield Statement("sessions_expire", {"now": now, "idle": SESSION_IDLE})
        yield Statement("sessions_add", _session_params(session) | {"now": now})
        tenant, after = session.identity.tenant, session_snapshot(session)
        entry = audit_row(self._ids(), tenant, str(session.id), {}, after)
        yield insert_audit("sign-in", act, now, [entry], subject="session")
        return session

    @flow(Mode.read)
    def use_session(self, session_id: UUID) -> Steps[SessionUse | None]:
        rows = cast("Any", (yield Statement("sessions_use", {"id": str(session_id)})))
        if not rows:
            return None
        session = _session(rows[0][1:11])
        if session is None:
            return None
        return SessionUse(session, joined_grants(rows, 11, session.identity.roles), rows[0][0])

    @flow(Mode.single)
    def record_session_use(self, session_id: UUID) -> Steps[None]:
        yield Statement("sessions_seen", {"id": str(session_id), "idle": SESSION_IDLE})

    @flow()
    def end_session(self, session_id: UUID, act: Act) -> Steps[bool]:
        return bool((yield from self._end({"id": str(session_id)}, act)))

    @flow()
    def end_sessions(self, user: str, act: Act) -> Steps[int]:
        refuse_unstorable([{"user": user}])
        return (yield from self._end({"user": user}, act))

    def _end(self, which: dict[str, object], act: Act) -> Steps[int]:
        now = yield from clock()
        ended = cast("Any", (yield Statement("sessions_end", which)))
        entries = [self._ended(*row) for row in ended]
        if entries:
            yield insert_audit("sign-out", act, now, entries, subject="session")
        return len(entries)

    def _ended(self, session_id: object, user: object, tenant: object) -> AuditRow:
        of = None if tenant is None else readable_text(tenant)
        before = {"user": readable_text(user)}
        return audit_row(self._ids(), of, readable_text(session_id), before, {})


def _session_params(session: StoredSession) -> dict[str, object]:
    identity = session.identity
    params: dict[str, object] = {"user": identity.user, "tenant": identity.tenant}
    refuse_unstorable([params])
    return params | {
        "id": str(session.id),
        "roles": json_param(sorted(identity.roles)),
        "api_key": None if session.api_key is None else str(session.api_key),
        "local": int(session.local),
        "secret_hash": session.secret_hash,
        "expires_at": session.expires_at,
    }


def _session(row: Row) -> StoredSession | None:
    """Return a session; None for one with a damaged value, which is over."""
    id_, user, roles, tenant, api_key, local, created_at, expires_at, seen_at, hash_ = cast(
        "Any", row
    )
    reader = ColumnReader()
    try:
        identity = Identity(user, reader.roles("roles", roles), tenant)
        key = None if api_key is None else UUID(api_key)
    except (InvalidArgument, ValueError, TypeError, AttributeError):
        return None
    session = StoredSession(
        id=UUID(id_),
        identity=identity,
        api_key=key,
        local=reader.flag("local", local),
        created_at=reader.instant("created_at", created_at),
        expires_at=reader.instant("expires_at", expires_at),
        seen_at=reader.instant("seen_at", seen_at),
        secret_hash=reader.hash("secret_hash", hash_),
    )
    return None if reader.damaged else session


def _link(row: Row) -> StoredLink | None:
    """Return a link; None for one with a damaged value, which opens nothing."""
    id_, created_at, expires_at, hash_ = cast("Any", row)
    reader = ColumnReader()
    created = reader.instant("created_at", created_at)
    expires = reader.instant("expires_at", expires_at)
    return None if reader.damaged else StoredLink(UUID(id_), created, expires, hash_)
