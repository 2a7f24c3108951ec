"""Messages that a stranger may send on the channel of wakes: any role that may connect can."""

from __future__ import annotations

import json
from random import Random


def message(*due: object, **more: object) -> str:
    return json.dumps({"from": "stranger", "due": list(due), **more})


# What duetime never sends: each is refused.
REFUSED = {
    "empty": "",
    "not JSON": "x",
    "half a message": '{"from":"x","due":[["1.0.q",1]',
    "a list": "[]",
    "a number": "5",
    "no sender": "{}",
    "a sender that is a number": '{"from":1,"due":[]}',
    "a long sender": json.dumps({"from": "x" * 1000, "due": []}),
    "lanes that are a number": '{"from":"x","due":5}',
    "lanes that are text": '{"from":"x","due":"1.0.q"}',
    "lanes that are an object": '{"from":"x","due":{"1.0.q":1}}',
    "a lane without an instant": message(["1.0.q"]),
    "a lane with two instants": message(["1.0.q", 1, 2]),
    "a lane that is a number": message([5, 1]),
    "a lane of nothing": message(["", 1]),
    "a lane of another grammar": message(["junk", 1]),
    "a lane without a queue": message(["1.0.", 1]),
    "a priority that does not exist": message(["9.9.q", 1]),
    "a priority below zero": message(["-1.0.q", 1]),
    "a priority in other digits": message(["\u0661.0.q", 1]),
    "a shard that does not exist": message(["1.16.q", 1]),
    "a shard with a zero in front": message(["1.01.q", 1]),
    "a queue of NUL": '{"from":"x","due":[["1.0.\\u0000",1]]}',
    "a queue of half a character": '{"from":"x","due":[["1.0.\\ud800",1]]}',
    "a long queue": message(["1.0." + "q" * 201, 1]),
    "a parking lane of nothing": message(["p.", 1]),
    "a parking lane whose kind is too short": message(["p.1.9.mail.1.0.q", 1]),
    "a parking lane in a parking lane": message(["p.1.4.mail.p.1.4.mail.1.0.q", 1]),
    "a parking lane of endless digits": message(["p.1." + "9" * 4000 + ".mail.1.0.q", 1]),
    "rows of no table": message(["rows.", 1]),
    "rows of a table by its name": message(["rows.posts", 1]),
    "rows of a long hash": message(["rows." + "0" * 17, 1]),
    "rows of a hash in capitals": message(["rows." + "A" * 16, 1]),
    "rows of a hash and a line": message(["rows." + "0" * 16 + "\n", 1]),
    "an instant that is text": message(["1.0.q", "1"]),
    "an instant that is true": message(["1.0.q", True]),
    "an instant with a fraction": message(["1.0.q", 1.5]),
    "an instant before all years": message(["1.0.q", -(10**30)]),
    "an instant after all years": message(["1.0.q", 10**30]),
    "an instant of endless digits": '{"from":"x","due":[["1.0.q",' + "9" * 5000 + "]]}",
    "an instant that is infinite": '{"from":"x","due":[["1.0.q",1e400]]}',
    "an instant that is no number": '{"from":"x","due":[["1.0.q",NaN]]}',
    "an infinite ping": '{"from":"x","due":[],"ping":1e400}',
    "a ping by another name": '{"from":"x","due":[],"ping":Infinity}',
    "a ping that is text": '{"from":"x","due":[],"ping":"1"}',
    "a ping out of range": message(ping=10**30),
    "a ping below zero": message(ping=-1),
    "brackets without end": "[" * 4000,
    "brackets within a message": '{"from":"x","due":' + "[" * 3900,
    "braces without end": '{"a":' * 1500,
}

# What a worker of duetime might send, if it were true.
LIES = {
    "everything changed": '{"from":"x","due":null}',
    "nothing changed": message(),
    "a lane that does not exist": message(["1.0.made-up", 1]),
    "an instant long ago": message(["1.0.q", -(10**15)]),
    "an instant far away": message(["1.0.q", 10**17]),
    "hundreds of lanes": message(*([f"1.0.made-up-{number}", 1] for number in range(300))),
    "hundreds of suspects": message(*([f"s.1.0.made-up-{number}", 1] for number in range(300))),
    "a parked kind": message(["p.1.4.note.1.0.q", 1]),
    "the ticks of jobs": message(["jobs.duetime", 1]),
    "a ping of another": message(ping=2**60),
    "a key from the future": message(["1.0.q", 1], news={"of": "a newer version"}),
}


def mutated(rng: Random) -> str:
    """Return a message of ours or of a stranger with a few characters changed, short enough for
    PostgreSQL, which also takes no NUL."""
    text = [*rng.choice([*REFUSED.values(), *LIES.values()])][:7000]
    for _ in range(rng.randint(1, 5)):
        place = rng.randrange(len(text) + 1)
        text[place : place + rng.randint(0, 3)] = rng.choice('{}[]",:\\u0.-1e9sp\ud7ff')
    return "".join(text)
