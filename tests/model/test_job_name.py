"""Names of jobs."""

from typing import Any

import pytest

from duetime.errors import InvalidArgument
from duetime.model.jobs.name import check_job_name


@pytest.mark.parametrize("name", ["billing-close", "a-b", "billing-nightly-close-2", "2fa-expire"])
def test_good_names(name: str) -> None:
    assert check_job_name(name) == name


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("NightlyClose", "nightly-close"),
        ("billing_close", "billing-close"),
        ("billing", "billing-nightly-close"),
        ("billing--close", "billing-close"),
        ("-billing-close", "billing-close"),
        ("billing-close-", "billing-close"),
        ("Billing Close!", "billing-close"),
        ("billing.close", "billing-close"),
        ("billing-close\n", "billing-close"),
        ("fermé-\u0661", "ferm-nightly-close"),
        ("\u00e9", "billing-nightly-close"),
    ],
)
def test_bad_names_get_a_suggestion(name: str, suggestion: str) -> None:
    with pytest.raises(InvalidArgument, match=f"'{suggestion}'"):
        check_job_name(name)


@pytest.mark.parametrize("name", ["", " ", None, 3, "a-" + "b" * 199])
def test_values_that_are_not_names(name: Any) -> None:
    with pytest.raises(InvalidArgument, match="name="):
        check_job_name(name)
