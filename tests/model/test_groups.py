"""Groups of actions under other names."""

from datetime import UTC, datetime
from uuid import UUID

from duetime.model.groups import Group, Groups

SINCE = datetime(2030, 1, 1, tzinfo=UTC)


def group(value: str, count: int, newest: int, *, capped: bool = False) -> Group:
    return Group(value, count, capped, UUID(int=newest))


def test_groups_with_the_same_new_name_become_one() -> None:
    groups = Groups(
        [group("a:x", 5, 1), group("b:x", 4, 2, capped=True), group("b:y", 3, 7)], SINCE
    )
    renamed = groups.renamed(lambda value: value[0])
    assert renamed.groups == [group("b", 7, 7, capped=True), group("a", 5, 1)]
    assert renamed.examined_since == SINCE
