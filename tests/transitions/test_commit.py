"""Whether a sweep knows that its transaction was committed."""

import gc

from sqlalchemy import create_engine, text
from sqlalchemy.orm import sessionmaker

from duetime.transitions.commit import COMMITTED_KEY, track_commits


def test_commits_are_tracked_in_every_class_of_sessions() -> None:
    """Each `sessionmaker` makes a class; a new one often has the address of one that is gone."""
    engine = create_engine("sqlite://")
    tracked = []
    for _ in range(20):
        sessions = sessionmaker(engine)
        track_commits(sessions.class_)
        track_commits(sessions.class_)
        with sessions() as session:
            session.execute(text("SELECT 1"))
            session.info[COMMITTED_KEY] = False
            session.commit()
            tracked.append(session.info[COMMITTED_KEY])
        del sessions, session
        gc.collect()
    engine.dispose()
    assert tracked == [True] * 20
