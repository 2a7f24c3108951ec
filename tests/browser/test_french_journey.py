"""A journey of somebody who reads French, from the failures of a deployment to the audit log."""

import pytest
from playwright.sync_api import expect

from browser.chromium import OpenTab
from browser.shop import Shop, signed_in


@pytest.mark.main
def test_failures_are_found_by_their_error_and_retried(open_tab: OpenTab, shop: Shop) -> None:
    tab = signed_in(open_tab(shop.address, locale="fr-FR", timezone_id="Europe/Paris"), shop)
    page = tab.open("/")
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    page.get_by_role("link", name="Échouées aujourd'hui").click()
    expect(page.get_by_role("heading", level=1, name="Actions")).to_be_visible()
    expect(page.locator("[data-rows] tbody .chip").first).to_have_text("échouée")
    page.get_by_role("link", name="Grouper par erreur").click()
    row = page.locator("[data-rows] tbody tr", has_text="order * is gone")
    row.get_by_role("button", name="Réessayer").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Actions à modifier : 3")
    dialog.get_by_label("Note").fill("réparé")
    dialog.get_by_role("button", name="Confirmer").click()
    expect(page.get_by_role("status").filter(has_text="Modifiées : 3")).to_be_visible()
    page.get_by_role("link", name="Audit").click()
    entry = page.locator("[data-rows] tbody tr", has_text="réparé").first
    expect(entry).to_contain_text("tableau de bord")
