"""What users see of an audit entry, whichever version wrote it."""

from uuid import UUID

import pytest

from duetime.model.audit import StoredAuditEntry, as_audit_entry, payload_digest


def entry(**snapshot: object) -> StoredAuditEntry:
    subject = ("job", "shop-report")
    return StoredAuditEntry(UUID(int=1), 0, "ann", None, "put", *subject, snapshot, snapshot)


@pytest.mark.parametrize("old", ['{"card": "4111"}', "null", {"card": "4111"}, None, 7])
def test_a_payload_that_an_earlier_version_wrote_is_shown_as_its_digest(old: object) -> None:
    shown = as_audit_entry(entry(payload=old, kind="mail"))
    for snapshot in (shown.before, shown.after):
        assert "4111" not in str(snapshot)
        assert str(snapshot["payload"]).startswith("sha256:")
        assert snapshot["kind"] == "mail"
    if isinstance(old, str):
        assert shown.before["payload"] == payload_digest(old)


def test_a_digest_stays() -> None:
    digest = payload_digest("{}")
    assert as_audit_entry(entry(payload=digest)).after["payload"] == digest
