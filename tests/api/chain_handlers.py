"""Handlers for tests of chains."""

from api.apps import Log, Note, Other
from duetime import Cancel, Context, Duetime, Fail, Retry
from duetime.model.actions.chain import On

# States of the parent in which a child runs.
REQUIRED_STATES: dict[On, set[str]] = {
    "succeeded": {"succeeded"},
    "failed": {"failed"},
    "finished": {"succeeded", "failed", "cancelled"},
}


def declare(app: Duetime) -> Log:
    log = Log()

    @app.handler(kind="note", retry=Retry.none())
    async def note(payload: Note) -> object:
        log(payload.text)
        if payload.text == "fails":
            raise Fail("no")
        return Cancel("never mind") if payload.text == "cancels" else payload.text

    @app.handler(kind="other")
    async def other(payload: Other, ctx: Context) -> object:
        parent = await ctx.parent()
        log(f"other {payload.number}")
        return None if parent is None else [parent.state, parent.result]

    return log
