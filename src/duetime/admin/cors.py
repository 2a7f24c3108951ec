"""Lets pages of named origins call the API from a browser; those of others cannot."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
REQUEST_HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "If-Match")
ANSWER_HEADERS = ("ETag", "Location", "Retry-After", "WWW-Authenticate", "Idempotency-Replayed")


def allow_origins(asgi: FastAPI, origins: Sequence[str]) -> None:
    """Answer preflights of these origins. Their pages send a token: cookies do not count, so that
    nobody acts with what a browser adds by itself."""
    asgi.add_middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=METHODS,
        allow_headers=REQUEST_HEADERS,
        expose_headers=ANSWER_HEADERS,
        allow_credentials=False,
    )
