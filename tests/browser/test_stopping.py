"""Open tabs do not keep a server from stopping."""

import asyncio
import threading
from pathlib import Path

import pytest
import uvicorn

from browser.chromium import OpenTab
from browser.page_paths import PLACES
from browser.shop import ROLE, Shop, fill, make_app, signed_in
from polling import in_time
from remote.serving import listening

TABS = 8
SECONDS = 2


@pytest.mark.main
def test_a_server_with_usual_settings_stops_beside_eight_tabs(
    open_tab: OpenTab, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    shop = Shop(make_app(url), url)
    fill(shop)
    with listening() as listener:
        shop.address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        asgi = shop.app.admin(admin_roles={ROLE})
        # No limit of its own to how long it waits for connections.
        server = uvicorn.Server(uvicorn.Config(asgi, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()
        tab = signed_in(open_tab(shop.address), shop)
        tabs = [tab, *(tab.another() for _ in range(TABS - 1))]
        for number, opened in enumerate(tabs):
            opened.open(PLACES[number % len(PLACES)].path)
        for opened in tabs:
            opened.page.wait_for_load_state("networkidle")
        with in_time(SECONDS):
            server.should_exit = True
            thread.join()
    for opened in tabs:
        opened.page.close()
    # Each tab has asked once more, and its browser says that nobody answered.
    assert all("net::ERR_" in fault for fault in tab.faults)
    tab.faults.clear()
    shop.app.sync.close()
