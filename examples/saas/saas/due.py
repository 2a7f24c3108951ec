"""The duetime app: everything that happens later, in one place."""

import logging
import time

from duetime import CallNext, Context, Duetime
from saas import billing, mail, posts, subscriptions
from saas.database import DUETIME_URL, engine, sessions

log = logging.getLogger("saas")
due = Duetime(DUETIME_URL, name="saas", sessions=sessions)


@due.middleware
async def log_run(ctx: Context, call_next: CallNext) -> object:
    """A line for each run: what ran, for whom, in which attempt, and how long it took."""
    start = time.perf_counter()
    try:
        return await call_next()
    finally:
        took = time.perf_counter() - start
        who = ctx.tenant or "nobody"
        log.info("%s for %s, attempt %d, took %.3f s", ctx.kind, who, ctx.attempt, took)


due.include(mail.router)
due.include(subscriptions.router)
due.include(billing.router)
due.transitions.register(posts.Post, engine)
