"""`python -m saas` creates all tables, so that workers may start before the server."""

import asyncio

from saas.database import create_tables
from saas.due import due


async def main() -> None:
    await create_tables()
    async with due:
        await due.stats()  # the first use of a database creates duetime's tables


if __name__ == "__main__":
    asyncio.run(main())
