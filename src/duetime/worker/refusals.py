"""How a store says that it refuses a batch because of one of its rows."""

from __future__ import annotations

from duetime.errors import InvalidArgument, InvalidPayload, UnreadableRow

# A service that meets one of these searches for the row, so that the others of the batch go on.
REFUSALS = (InvalidArgument, InvalidPayload, UnreadableRow)
