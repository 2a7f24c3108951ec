"""APScheduler 3 with its SQLAlchemy job store: one process, no cluster."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime

from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from driving import POLL_SECONDS, arguments, instants, late, print_lates, print_rates, url
from sqlalchemy import create_engine, text

ran: list[float] = []
expected = 0
done = threading.Event()


def noop(n: int) -> None:
    note(float(n))


def timed(due: float) -> None:
    note(late(due))


def note(value: float) -> None:
    ran.append(value)
    if len(ran) == expected:
        done.set()


def main() -> None:
    global expected
    name, expected, seconds = arguments()
    address = url().replace("postgresql:", "postgresql+psycopg:")
    scheduler = BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(url=address)},
        job_defaults={"misfire_grace_time": None},
        timezone="UTC",
    )
    if name == "drain":
        drain(scheduler, address)
    else:
        spread(scheduler, seconds)
    os._exit(0)


def drain(scheduler: BackgroundScheduler, address: str) -> None:
    scheduler.start(paused=True)
    now = datetime.now(UTC)
    began = time.perf_counter()
    for n in range(expected):
        scheduler.add_job(noop, "date", run_date=now, args=[n])
    scheduled = time.perf_counter() - began
    looking = create_engine(address)
    began = time.perf_counter()
    scheduler.resume()
    done.wait()
    with looking.connect() as connection:
        while connection.execute(text("SELECT count(*) FROM apscheduler_jobs")).scalar():
            connection.rollback()
            time.sleep(POLL_SECONDS)
    print_rates(expected, scheduled, time.perf_counter() - began)


def spread(scheduler: BackgroundScheduler, seconds: float) -> None:
    scheduler.start()
    for due in instants(expected, seconds):
        scheduler.add_job(timed, "date", run_date=due, args=[due.timestamp()])
    done.wait()
    print_lates(ran)


if __name__ == "__main__":
    main()
