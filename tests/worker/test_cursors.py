"""Cursors stay behind what a claim may have missed, and remember nothing else."""

from duetime.worker.claiming.cursors import Cursors


def test_without_a_claim_in_transit_nothing_is_remembered() -> None:
    """A stranger may name any number of lanes, of which a worker claims none."""
    cursors = Cursors()
    cursors.lower("1.0.first", 1)
    assert not cursors._lowered_since_sent
    cursors.claim_sent()
    cursors.lower("1.0.during", 1)
    assert cursors._lowered_since_sent == {"1.0.during": 1}
    cursors.claim_answered()
    cursors.lower("1.0.later", 1)
    assert not cursors._lowered_since_sent
