"""The page on telemetry, the dashboard and the alerts name what there is, and all of it."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from duetime.telemetry import instruments, tracing
from duetime.telemetry.prometheus import prometheus_registry, prometheus_text

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "telemetry.md").read_text("utf-8")
OBSERVABILITY = ROOT / "examples" / "observability"
DASHBOARD = json.loads((OBSERVABILITY / "dashboard.json").read_text("utf-8"))
ALERTS = (OBSERVABILITY / "alerts.yml").read_text("utf-8")


def rows(first: str) -> list[list[str]]:
    """The rows of the table whose head begins with this column."""
    lines = [*PAGE.splitlines(), ""]
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {first} |"))
    table = lines[start + 2 : lines.index("", start)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_every_metric_is_documented_with_its_form_and_unit() -> None:
    assert [(name, form) for name, form, _ in rows("metric")] == [
        (f"`{spec.name}`", f"{spec.form}, `{spec.unit}`") for spec in instruments.ALL
    ]


def test_every_span_is_documented() -> None:
    documented = {name for first, _ in rows("span") for name in re.findall(r"`(.*?)`", first)}
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src" / "duetime").rglob("*.py"))
    made = {*tracing.SPAN_OF_VERB.values(), *re.findall(r'span\(\s*"(duetime\.\w+)"', source)}
    assert documented == made


def test_every_panel_and_alert_is_documented() -> None:
    assert [title for title, _ in rows("panel")] == [
        panel["title"] for panel in in_page_order(DASHBOARD["panels"])
    ]
    assert [name.strip("`") for name, _ in rows("alert")] == re.findall(r"alert: (\w+)", ALERTS)


def in_page_order(panels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(panels, key=lambda panel: (panel["gridPos"]["y"], panel["gridPos"]["x"]))


def prometheus_names() -> set[str]:
    """How Prometheus names the metrics."""
    suffixes = {"counter": ["_total"], "histogram": ["_seconds_bucket"], "gauge": [""]}
    units = {"duetime.oldest_overdue": "_seconds"}
    return {
        spec.name.replace(".", "_") + units.get(spec.name, "") + suffix
        for spec in instruments.ALL
        for suffix in suffixes[spec.form]
    }


@pytest.mark.parametrize("text", [json.dumps(DASHBOARD), ALERTS], ids=["dashboard", "alerts"])
def test_what_is_watched_exists(text: str) -> None:
    labels = {
        "duetime_kind",
        "duetime_queue",
        "duetime_state",
        "duetime_transition",
        "duetime_channel",
    }
    named = {*re.findall(r"duetime_\w+", text)} - labels
    assert named <= prometheus_names()


def test_the_dashboard_shows_every_metric() -> None:
    assert {*re.findall(r"duetime_\w+", json.dumps(DASHBOARD))} >= prometheus_names()


def test_prometheus_names_metrics_so() -> None:
    prometheus_registry()
    from duetime.telemetry.gauges import StoreGauges, WorkerGauges
    from duetime.telemetry.meters import Meters

    meters, gauges = Meters(), WorkerGauges()
    gauges.store = StoreGauges([("q", "scheduled", 1)], 1.0, 1)
    meters.scheduled("k", None, "q", 1)
    meters.transitioned("t", applied=1, failed=1)
    meters.swept(0.1)
    text = prometheus_text().decode()
    gauges.close()
    shown = {*re.findall(r"^(duetime_\w+)", text, re.MULTILINE)}
    assert prometheus_names() & shown >= {
        *("duetime_action_scheduled_total", "duetime_transition_applied_total"),
        *("duetime_transition_failed_total", "duetime_sweep_duration_seconds_bucket"),
        *("duetime_backlog", "duetime_oldest_overdue_seconds", "duetime_workers"),
        "duetime_slots_used",
    }


@pytest.mark.skipif(
    shutil.which("promtool") is None,
    reason="promtool is not installed (Debian: prometheus): it does NOT check the alert rules",
)
def test_promtool_accepts_the_alerts(tmp_path: Path) -> None:
    promtool = ["promtool", "check", "rules"]
    subprocess.run([*promtool, str(OBSERVABILITY / "alerts.yml")], check=True)
    broken = tmp_path / "broken.yml"
    broken.write_text(ALERTS.replace("sum(", "summ(", 1))
    assert subprocess.run([*promtool, str(broken)], check=False).returncode != 0


def test_alerts_are_valid_rules() -> None:
    import yaml

    [group] = yaml.safe_load(ALERTS)["groups"]
    for rule in group["rules"]:
        assert rule.keys() >= {"alert", "expr", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"].strip()
        assert rule["expr"].count("(") == rule["expr"].count(")")
