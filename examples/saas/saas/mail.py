"""Mails, sent by actions: a mail server that is away delays a mail, and never loses it."""

import logging
from dataclasses import dataclass

from duetime import Retry, Router

log = logging.getLogger("saas.mail")
router = Router()


class Mailer:
    """Stands for a mail server. It writes mails to the log."""

    async def send(self, to: str, text: str) -> None:
        if "@" not in to:
            raise ValueError(f"{to} is no address")
        log.info("mail to %s: %s", to, text)


router.provide(Mailer, Mailer)


@dataclass(frozen=True)
class SendMail:
    to: str
    text: str


# A server that does not answer is asked again, after 30 s, 1, 2 and 4 minutes. A wrong address
# stays wrong.
@router.handler(kind="mail-send", queue="mail", retry=Retry(attempts=5, delay=30, on=OSError))
async def send_mail(payload: SendMail, mailer: Mailer) -> None:
    await mailer.send(payload.to, payload.text)
