"""Who may do what: the decision, by a table written by hand, and its laws."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.errors import InvalidArgument, PermissionDenied
from duetime.model.access.grants import (
    Authority,
    StoredGrant,
    is_administrator,
    is_allowed,
    refuse_scoped,
    scope_of,
)
from duetime.model.access.identity import Identity, refuse_credential_name
from duetime.model.access.permissions import (
    BUNDLES,
    GRANTABLE,
    PERMISSIONS,
    PermissionName,
    included_in,
    to_grantable,
)
from duetime.model.access.secret import SecretText, is_secret, make_secret, read_secret
from duetime.model.tenant import ANY, Scope

ROOTS = frozenset({"root"})

# Every permission, its bundle, and whether it is store-wide: written by hand.
TABLE = {
    "actions.read": ("actions.manage", False),
    "actions.schedule": ("actions.manage", False),
    "actions.cancel": ("actions.manage", False),
    "actions.reschedule": ("actions.manage", False),
    "actions.retry": ("actions.manage", False),
    "actions.bulk": ("actions.manage", False),
    "payload.read": (None, False),
    "jobs.read": ("jobs.manage", False),
    "jobs.edit": ("jobs.manage", False),
    "jobs.remove": ("jobs.manage", False),
    "jobs.pause": ("jobs.manage", False),
    "jobs.trigger": ("jobs.manage", False),
    "jobs.backfill": ("jobs.manage", False),
    "transitions.read": (None, True),
    "transitions.manage": (None, True),
    "queues.read": (None, True),
    "queues.manage": (None, True),
    "workers.read": (None, True),
    "stats.read": (None, False),
    "metrics.read": (None, True),
    "audit.read": (None, False),
    "subscriptions.manage": (None, False),
    "notifications.read": (None, False),
    "admin": (None, True),
}


def grant(
    role: str, permission: str, tenant: str | None = None, allowed: bool = True
) -> StoredGrant:
    return StoredGrant(UUID(int=0), role, permission, tenant, allowed, 0, "ann")


class TestPermissions:
    def test_the_list_is_the_table(self) -> None:
        assert {p.name: (p.bundle, p.store_wide) for p in PERMISSIONS.values()} == TABLE
        assert {*get_args(PermissionName)} == {*TABLE}
        assert {*GRANTABLE} == {*TABLE, "actions.manage", "jobs.manage"}

    @pytest.mark.parametrize("bundle", BUNDLES)
    def test_a_bundle_includes_what_names_it(self, bundle: str) -> None:
        assert {p.name for p in included_in(bundle)} == {
            name for name, (of, _) in TABLE.items() if of == bundle
        }

    @pytest.mark.parametrize("name", ["", "actions", "jobs.*", "Admin", "actions.read ", None, 7])
    def test_other_names_are_refused(self, name: str) -> None:
        with pytest.raises(InvalidArgument, match="permission="):
            to_grantable(name)

    def test_the_nearest_name_is_named(self) -> None:
        with pytest.raises(InvalidArgument, match=r"did you mean 'jobs\.pause'"):
            to_grantable("jobs.paus")


# What a role has by its grants, asked for one permission of tenant a: the first grant that is found
# in this order counts: exact for a, exact for all, bundle for a, bundle for all.
ORDER = [("jobs.pause", "a"), ("jobs.pause", None), ("jobs.manage", "a"), ("jobs.manage", None)]


class TestGrants:
    @pytest.mark.parametrize("first", range(4))
    @pytest.mark.parametrize("allowed", [True, False])
    def test_the_first_grant_found_counts(self, first: int, allowed: bool) -> None:
        grants = [grant("r", *ORDER[first], allowed)]
        grants += [grant("r", *place, not allowed) for place in ORDER[first + 1 :]]
        grants += [grant("other", *place, not allowed) for place in ORDER]
        grants += [grant("r", "jobs.pause", "b", not allowed), grant("r", "jobs.read", "a")]
        asked = Identity("eve", ["r"], "a")
        assert is_allowed(asked, "jobs.pause", "a", grants, ROOTS) is allowed
        assert is_allowed(asked, "jobs.pause", "a", reversed(grants), ROOTS) is allowed

    def test_without_a_grant_nothing_is_allowed(self) -> None:
        for name in PERMISSIONS:
            assert not is_allowed(Identity("eve", ["r"]), name, None, [], ROOTS)
            assert not is_allowed(Identity("eve"), name, None, [grant("r", name)], ROOTS)

    def test_roles_add_up(self) -> None:
        grants = [grant("no", "jobs.pause", allowed=False), grant("yes", "jobs.pause")]
        both = Identity("eve", ["no", "yes"])
        assert is_allowed(both, "jobs.pause", None, grants, ROOTS)
        assert not is_allowed(Identity("eve", ["no"]), "jobs.pause", None, grants, ROOTS)

    @pytest.mark.parametrize("name", TABLE)
    def test_a_bundle_gives_its_own(self, name: str) -> None:
        for bundle in BUNDLES:
            allowed = is_allowed(Identity("eve", ["r"]), name, None, [grant("r", bundle)], ROOTS)
            assert allowed == (TABLE[name][0] == bundle)

    # Who asks, for the rows of which tenant, and which of these are allowed: a permission of a
    # tenant's rows, and a store-wide one. Every role has both by a grant for all.
    @pytest.mark.parametrize(
        ("identity", "tenant", "rows", "store"),
        [
            (Identity("eve", ["r"]), None, True, True),
            (Identity("eve", ["r"]), "a", False, True),
            (Identity("eve", ["r"]), ANY, False, True),
            (Identity("eve", ["r"], "a"), "a", True, False),
            (Identity("eve", ["r"], "a"), "b", False, False),
            (Identity("eve", ["r"], "a"), None, False, False),
            (Identity("eve", ["r"], "a"), ANY, False, False),
            (Identity("ann", ["root"]), None, True, True),
            (Identity("ann", ["root"]), "a", True, True),
            (Identity("ann", ["root"]), ANY, True, True),
            (Identity("ann", ["root"], "a"), "a", True, False),
            (Identity("ann", ["root"], "a"), "b", False, False),
            (Identity("ann", ["root"], "a"), None, False, False),
            (Identity("ann", ["root"], "a"), ANY, False, False),
            (Identity("nobody"), None, False, False),
        ],
    )
    def test_whose_rows_are_reached(
        self, identity: Identity, tenant: Scope, rows: bool, store: bool
    ) -> None:
        grants = [grant("r", "actions.read"), grant("r", "queues.read"), grant("r", "admin")]
        assert is_allowed(identity, "actions.read", tenant, grants, ROOTS) is rows
        assert is_allowed(identity, "queues.read", tenant, grants, ROOTS) is store
        assert is_allowed(identity, "admin", tenant, grants, ROOTS) is store

    def test_an_administrator_needs_no_grant_and_no_denial_counts(self) -> None:
        denials = [grant("root", name, allowed=False) for name in PERMISSIONS]
        for name, (_, store_wide) in TABLE.items():
            assert is_allowed(Identity("ann", ["root"]), name, ANY, denials, ROOTS)
            bound = Identity("ann", ["root"], "a")
            assert is_allowed(bound, name, "a", denials, ROOTS) is not store_wide

    def test_which_rows_an_identity_reaches(self) -> None:
        assert scope_of(Identity("ann", ["root"]), ROOTS) is ANY
        assert scope_of(Identity("ann", ["root"], "a"), ROOTS) == "a"
        assert scope_of(Identity("eve", ["r"]), ROOTS) is None
        assert not is_administrator(Identity("eve", ["root"]), frozenset())

    @pytest.mark.parametrize("name", [name for name, (_, wide) in TABLE.items() if wide])
    def test_what_is_store_wide_is_granted_for_all_only(self, name: str) -> None:
        refuse_scoped(name, None)
        with pytest.raises(InvalidArgument, match="tenant='a'"):
            refuse_scoped(name, "a")

    @pytest.mark.parametrize("name", [*BUNDLES, *(n for n, (_, wide) in TABLE.items() if not wide)])
    def test_the_rest_is_granted_for_a_tenant_too(self, name: str) -> None:
        refuse_scoped(name, "a")

    def test_an_unknown_permission_is_an_error_of_the_caller(self) -> None:
        with pytest.raises(KeyError):
            is_allowed(Identity("ann", ["root"]), "jobs.explode", None, [], ROOTS)


ROLES, TENANTS = ("r", "s", "root"), ("a", "b")
roles = st.frozensets(st.sampled_from(ROLES))
tenants = st.none() | st.sampled_from(TENANTS)
identities = st.builds(Identity, st.just("eve"), roles, tenants)
grants = st.lists(
    st.builds(grant, st.sampled_from(ROLES), st.sampled_from(GRANTABLE), tenants, st.booleans()),
    max_size=12,
)
# Few places, so that grants often contradict each other; with the columns that are damaged.
damaged_grants = st.lists(
    st.tuples(
        st.builds(
            grant,
            st.sampled_from(["r", "s"]),
            st.sampled_from(["jobs.pause", "jobs.manage"]),
            st.sampled_from(["a", None]),
            st.booleans(),
        ),
        st.frozensets(
            st.sampled_from(["role", "permission", "tenant", "allowed", "created_by"]), max_size=2
        ),
    ),
    unique_by=lambda both: (both[0].role, both[0].permission, both[0].tenant),
)
names = st.sampled_from(sorted(PERMISSIONS))


def damaged(stored: StoredGrant, columns: frozenset[str]) -> StoredGrant:
    """Return a grant as a store reads it when these columns of its row hold garbage."""
    garbage: dict[str, Any] = dict.fromkeys(columns & {"role", "permission", "tenant"}, "\\xff")
    allowed = stored.allowed and "allowed" not in columns
    return replace(stored, **garbage, allowed=allowed, damaged=tuple(columns))


def rights(identity: Identity, known: Iterable[StoredGrant], tenant: Scope) -> set[str]:
    listed = list(known)
    return {name for name in PERMISSIONS if is_allowed(identity, name, tenant, listed, ROOTS)}


class TestLaws:
    @given(identities, grants, st.sampled_from([*TENANTS, None, ANY]))
    def test_no_grant_widens_an_identity_beyond_its_tenant(
        self, identity: Identity, known: list[StoredGrant], tenant: Scope
    ) -> None:
        if identity.tenant is not None and tenant != identity.tenant:
            assert rights(identity, known, tenant) == set()

    @given(identities, grants, names)
    def test_with_a_tenant_nothing_is_store_wide(
        self, identity: Identity, known: list[StoredGrant], name: str
    ) -> None:
        if identity.tenant is not None and PERMISSIONS[name].store_wide:
            assert not is_allowed(identity, name, identity.tenant, known, ROOTS)

    @given(identities, grants, roles, tenants)
    def test_another_role_takes_nothing_away(
        self, identity: Identity, known: list[StoredGrant], more: frozenset[str], tenant: Scope
    ) -> None:
        wider = Identity(identity.user, identity.roles | more, identity.tenant)
        assert rights(identity, known, tenant) <= rights(wider, known, tenant)

    @given(identities, grants, identities)
    def test_no_key_can_do_more_than_its_maker(
        self, maker: Identity, known: list[StoredGrant], holder: Identity
    ) -> None:
        try:
            Authority(maker, ROOTS).refuse_key(holder, known)
        except PermissionDenied:
            return
        for tenant in (*TENANTS, None, ANY):
            assert rights(holder, known, tenant) <= rights(maker, known, tenant)

    @given(identities, grants, st.sampled_from(GRANTABLE), tenants, identities)
    def test_no_grant_gives_more_than_its_maker_has(
        self,
        maker: Identity,
        known: list[StoredGrant],
        permission: str,
        tenant: str | None,
        holder: Identity,
    ) -> None:
        try:
            Authority(maker, ROOTS).refuse_grant(permission, tenant, known)
        except PermissionDenied:
            return
        kept = [g for g in known if (g.permission, g.tenant) != (permission, tenant)]
        others = [grant(role, permission, tenant) for role in ROLES]
        gained = rights(holder, [*kept, *others], maker.tenant) - rights(
            holder, known, maker.tenant
        )
        assert gained <= rights(maker, known, maker.tenant)

    @given(damaged_grants)
    def test_damaged_grants_give_nobody_more(
        self, both: list[tuple[StoredGrant, frozenset[str]]]
    ) -> None:
        eve = Identity("eve", ["r"], "a")
        meant = [grant for grant, _ in both]
        found = [damaged(grant, columns) for grant, columns in both]
        assert rights(eve, found, "a") <= rights(eve, meant, "a")

    @given(identities, grants)
    def test_an_administrator_of_a_tenant_makes_nothing_outside(
        self, holder: Identity, known: list[StoredGrant]
    ) -> None:
        bound = Authority(Identity("ann", ["root"], "a"), ROOTS)
        if holder.tenant != "a":
            with pytest.raises(PermissionDenied):
                bound.refuse_key(holder, known)


class TestIdentity:
    def test_what_it_holds(self) -> None:
        identity = Identity("ann", ["b", "a", "b"], "t")
        assert (identity.user, identity.roles, identity.tenant) == ("ann", frozenset("ab"), "t")
        assert identity == Identity(tenant="t", roles=("a", "b"), user="ann")
        assert Identity("ann") == Identity("ann", (), None)

    def test_it_cannot_be_changed(self) -> None:
        with pytest.raises(AttributeError):
            Identity("ann").tenant = "b"  # type: ignore[misc]

    @pytest.mark.parametrize(
        "given_",
        [
            {"user": ""},
            {"user": "system"},
            {"user": "a\0"},
            {"user": "x" * 451},
            {"user": None},
            {"user": "ann", "roles": "admin"},
            {"user": "ann", "roles": [""]},
            {"user": "ann", "roles": [7]},
            {"user": "ann", "roles": [str(n) for n in range(101)]},
            {"user": "ann", "tenant": ""},
            {"user": "ann", "tenant": 7},
        ],
    )
    def test_bad_values_are_refused(self, given_: dict[str, object]) -> None:
        with pytest.raises(InvalidArgument):
            Identity(**given_)  # type: ignore[arg-type]

    @pytest.mark.parametrize("user", ["key:1", "link:1"])
    def test_others_are_not_named_as_stored_credentials(self, user: str) -> None:
        with pytest.raises(InvalidArgument):
            refuse_credential_name(Identity(user))
        assert refuse_credential_name(Identity(f"my{user}")).user == f"my{user}"


class TestSecrets:
    @given(st.uuids())
    def test_a_text_is_read_as_it_was_written(self, id_: UUID) -> None:
        secret = make_secret(id_, lambda count: bytes(range(count)))
        text = secret.written("dt")
        assert text.startswith(f"dt_{id_}_")
        assert read_secret("dt", text) == secret
        assert read_secret("dts", text) is None
        assert secret.secret not in repr(secret)

    @given(st.text() | st.text("dt_0a-", max_size=60).map(lambda rest: f"dt_{rest}"))
    def test_any_other_text_is_none_or_a_secret(self, text: str) -> None:
        found = read_secret("dt", text)
        assert found is None or found.secret

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "dt",
            "dt_",
            f"dt_{UUID(int=1)}",
            f"dt_{UUID(int=1)}_",
            f"dt_{UUID(int=1)}_é",
            f"dt_{UUID(int=1)}_" + "x" * 200,
        ],
    )
    def test_incomplete_texts_are_none(self, text: str) -> None:
        assert read_secret("dt", text) is None

    def test_only_the_right_secret_is_right(self) -> None:
        right = SecretText(UUID(int=1), "right")
        assert is_secret(right, right.hash)
        assert not is_secret(SecretText(UUID(int=1), "wrong"), right.hash)
        assert not is_secret(right, None)
        assert not is_secret(right, "")
