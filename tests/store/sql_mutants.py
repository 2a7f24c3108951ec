"""Faults planted in the SQL, one at a time: the tests of the stores must notice each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from unittest.mock import patch

from duetime.store.sql.statements import loader


@dataclass(frozen=True)
class Mutant:
    """A file of `duetime.store.sql`, a text that it holds once, and the faulty replacement."""

    name: str
    file: str
    right: str
    wrong: str


def copy_sql(target: Path) -> None:
    """Copy all files that the loader reads, to plant faults in."""
    with as_file(files("duetime.store.sql")) as source:
        for folder in ("queries", "migrations"):
            shutil.copytree(source / folder, target / folder)


@contextmanager
def planted(mutant: Mutant, copied: Path) -> Iterator[None]:
    """Let stores made in this context read the copied files, with this fault."""
    file = copied / mutant.file
    healthy = file.read_text("utf-8")
    assert healthy.count(mutant.right) == 1, f"{mutant.file} must hold this once: {mutant.right}"
    file.write_text(healthy.replace(mutant.right, mutant.wrong), "utf-8")
    _clear_caches()
    try:
        with patch.object(loader, "_SQL_FOLDER", copied):
            yield
    finally:
        file.write_text(healthy, "utf-8")
        _clear_caches()


def _clear_caches() -> None:
    loader.load_template.cache_clear()
    loader._migration_parts.cache_clear()


def _common(name: str, statement: str, right: str, wrong: str) -> Mutant:
    return Mutant(name, f"queries/common/{statement}.sql", right, wrong)


def _sqlite(name: str, statement: str, right: str, wrong: str) -> Mutant:
    return Mutant(name, f"queries/sqlite/{statement}.sql", right, wrong)


def _postgres(name: str, statement: str, right: str, wrong: str) -> Mutant:
    return Mutant(name, f"queries/postgres/{statement}.sql", right, wrong)


FREE_CONDITION = " AND CASE WHEN a.token IS NULL THEN true END"

# Tested on SQLite. Files in `common` have the same text on PostgreSQL.
SQLITE = (
    _sqlite("claim_before_since", "claim_candidates", "a.due_at >= :since AND ", ""),
    _sqlite("claim_running_ones", "claim_candidates", "AND a.token IS NULL", ""),
    _sqlite(
        "claim_newest_first", "claim_candidates", "ORDER BY a.due_at", "ORDER BY a.due_at DESC"
    ),
    _sqlite("claim_a_moment_late", "claim_candidates", "a.due_at <= :now", "a.due_at < :now"),
    _sqlite("claim_starts_early", "claim", "max(:now, due_at)", ":now"),
    _sqlite(
        "finish_for_anyone",
        "finish",
        "(id, token) IN (SELECT e.ending_id, e.ending_token",
        "id IN (SELECT e.ending_id",
    ),
    _sqlite("finish_no_losses", "finish_history", "losses + ending_lost", "losses"),
    _sqlite("finish_no_refund", "finish_history", "attempt - ending_refund", "attempt"),
    _sqlite("claim_without_expiry", "claim_candidates", "expires_at, trace\n", "NULL, trace\n"),
    _sqlite("again_keeps_progress", "requeue", "    progress = NULL,\n", ""),
    _sqlite("again_keeps_stop", "requeue", "    stop_by = NULL,\n", ""),
    _sqlite("again_no_refund", "requeue", "attempt - ending_refund", "attempt"),
    _sqlite(
        "renew_for_anyone",
        "renew",
        "(id, token) IN (\n    SELECT value ->> 'held_id', value ->> 'held_token'",
        "id IN (\n    SELECT value ->> 'held_id'",
    ),
    _sqlite("sweep_a_moment_late", "sweep", "a.lease_until <= :now", "a.lease_until < :now"),
    _sqlite("prune_failed_too_soon", "prune", ":now - :keep_failed", ":now - :keep"),
    _sqlite("prune_leaves_runs", "prune_runs", "WHERE ", "WHERE FALSE AND "),
    _common("progress_for_anyone", "progress", " AND token = :token", ""),
    _common(
        "stop_by_the_first", "request_stop", "stop_by = :by", "stop_by = coalesce(stop_by, :by)"
    ),
    _common("retry_no_new_budget", "retry", "h.attempt, r.new_lane", "h.base_attempt, r.new_lane"),
    _common("replace_keeps_expiry", "replace", "    expires_at = :expires_at,\n", ""),
    _common("retry_without_expiry", "retry", "h.expires_at", "NULL"),
    _common("replace_keeps_attempts", "replace", "    attempt = 0,\n", ""),
    _common(
        "find_of_other_tenants",
        "_action_matches",
        "a.tenant = :tenant",
        "(a.tenant = :tenant OR a.tenant IS NULL)",
    ),
    _common(
        "find_due_too_late", "_action_matches", "a.due_at < :due_before", "a.due_at <= :due_before"
    ),
    _common("find_keys_of_any_kind", "_action_matches", "a.kind = :kind", "a.kind IS NOT NULL"),
    _common("find_keys_of_failed_ones", "_history_matches", "h.state = :state", "TRUE"),
    _common("look_at_running_ones", "_lane_heads", FREE_CONDITION, ""),
    _common("look_on_at_running_ones", "look_ahead_from", FREE_CONDITION, ""),
    _common("look_on_from_the_start", "look_ahead_from", " AND a.due_at >= r.since", ""),
    _common("runs_oldest_first", "runs", "ORDER BY r.seq DESC", "ORDER BY r.seq"),
    _common("audit_oldest_first", "audit", "u.at DESC, u.id DESC", "u.at, u.id"),
    _common("stats_of_all_leases", "stats_lanes", " AND a.lease_until <= :now", ""),
    _common(
        "stats_overdue_too_late",
        "stats_lanes",
        "IS NULL AND a.due_at <= :now),\n    min",
        "IS NULL AND a.due_at < :now),\n    min",
    ),
    _common("queues_overdue_if_parked", "queue_counts", "<> 'p.'\n    ),\n", "<> 'x'\n    ),\n"),
    _common("queues_count_no_leases", "queue_counts", "a.token IS NOT NULL", "FALSE"),
    _common("pause_keeps_its_end", "queue_pause", "paused_until = :paused_until", "name = :queue"),
    _common(
        "pause_by_the_first", "queue_pause", "paused_by = CAST", "paused_by = paused_by || CAST"
    ),
    _common("pause_never_ends", "queue_pauses", "paused_until > :now", "paused_until > 0"),
    _sqlite(
        "look_at_ended_pauses", "_paused_queues", "q.paused_until > :now", "q.paused_until > 0"
    ),
    _common("stats_of_other_tenants", "stats_finished", "n.tenant = :tenant", "TRUE"),
    _common("ended_in_any_way", "applied_completions", " AND h.outcome = e.ending_outcome", ""),
    _common(
        "settle_while_parents_run",
        "lock_settleable",
        "AND NOT EXISTS (SELECT 1 FROM duetime_actions AS u WHERE u.id = a.after)",
        "",
    ),
    _common("settle_newest_first", "lock_settleable", "ORDER BY a.id", "ORDER BY a.id DESC"),
    _common("settle_outside_lanes", "settle", "    lane = settled_lane,\n", ""),
    _common("settle_without_reason", "settle", ",\n    error = settled_error", ""),
    _common("postpone_keeps_delay", "reschedule_waiting", "    after_delay = NULL,\n", ""),
    _common("replace_keeps_parent", "replace", "    after = :after,\n", ""),
    _common("circle_of_two_at_most", "ancestors", "a.due_at IS NULL", "FALSE"),
    # These indexes are named: SQLite would refuse a condition that they do not fit.
    _sqlite(
        "finish_forgets_children", "finish_count", "c.due_at IS NULL", "c.due_at IS NULL AND FALSE"
    ),
    _sqlite(
        "finish_tells_no_parents",
        "awaited_parents",
        "c.due_at IS NULL",
        "c.due_at IS NULL AND FALSE",
    ),
    _sqlite("sweep_forgets_children", "sweep", "w.due_at IS NULL", "w.due_at IS NOT NULL"),
    Mutant(
        "key_held_twice",
        "migrations/sqlite/0001_actions.sql",
        "(coalesce(tenant, ''), kind",
        "(tenant, kind",
    ),
    _common("bulk_shows_the_oldest", "_bulk_scheduled", "ORDER BY a.id DESC", "ORDER BY a.id"),
    _common("bulk_never_ends", "bulk_advance", "ended = :ended", "ended = 0"),
    _common("bulk_forgets_answers", "bulk_advance", "answers || :answer", "answers"),
    _common("bulk_moved_by_nobody", "bulk_move", ",\n    modified_by = :by", ""),
    _common(
        "bulk_move_keeps_delay",
        "bulk_move",
        "CASE WHEN due_at IS NOT NULL THEN after_delay END",
        "after_delay",
    ),
    _common(
        "bulk_moves_children_into_lanes",
        "bulk_move",
        "CASE WHEN due_at IS NOT NULL THEN r.new_due_at END",
        "r.new_due_at",
    ),
    _common("retry_leaves_history", "retry_history", "WHERE ", "WHERE FALSE AND "),
    _common("repeat_of_other_tenants", "lock_finished", "h.tenant = :tenant", "TRUE"),
    _common("erase_leaves_errors", "erase_history", " error = NULL,", ""),
    _common("erase_leaves_runs", "erase_runs", "WHERE ", "WHERE FALSE AND "),
    _common("erase_counts_none_that_run", "erase_left_unfinished", "count(found.token)", "0"),
    _common("erase_takes_what_runs", "erase_lock_scheduled", "a.token IS NULL", "TRUE"),
    _sqlite("timeline_runs_nothing", "timeline_unfinished", "ELSE 'running'", "ELSE 'scheduled'"),
)

# Tested on SQLite, by random histories of jobs.
JOBS = (
    _common("ticks_a_moment_late", "jobs_due", "a.next_due_at <= :now", "a.next_due_at < :now"),
    _common("ticks_stay_due", "jobs_update", "    next_due_at = n.next_due_at,\n", ""),
    _common(
        "jobs_stay_as_they_were", "jobs_update", "    record = n.record\n", "    app = n.app\n"
    ),
    _common("pause_cancels_what_runs", "jobs_unfinished", "ELSE 1 END", "ELSE 0 END"),
    _common(
        "skipped_as_cancelled", "occurrences_skip", "'skipped', n.skipped", "'lost', n.skipped"
    ),
    _common("queued_out_of_order", "jobs_unfinished", "ORDER BY a.created_at, a.id", "ORDER BY 1"),
    _common("any_end_is_a_dead_letter", "jobs_dead_count", "h.state = 'failed'", "TRUE"),
    _common("occurrences_of_nobody", "occurrences_add", "n.triggered_by, :now", "NULL, :now"),
    _common("removed_jobs_are_listed", "jobs_page", "a.removed_at IS NULL", "TRUE"),
    _sqlite("pauses_never_end", "_job_paused", "{{job_paused_until}} > :now", "true"),
)

POSTGRES = (
    _postgres("claim_above_limit", "claim", "    ) AS x\n    LIMIT :limit\n", "    ) AS x\n"),
    _postgres("claim_newest_first", "claim", "ORDER BY a.due_at", "ORDER BY a.due_at DESC"),
    _postgres(
        "claim_before_since",
        "claim",
        "s.lane, s.since, (SELECT",
        "s.lane, CAST(-1e15 AS bigint) AS since, (SELECT",
    ),
    _postgres(
        "look_at_ended_pauses", "_paused_queues", "q.paused_until > :now", "q.paused_until > 0"
    ),
    _postgres("claim_not_ahead", "claim", " + s.ahead AS until", " AS until"),
    _postgres("finish_no_refund", "finish", " - ending_refund", ""),
    _postgres(
        "finish_starts_what_expired", "finish", "ending_refund = 0 THEN", "ending_refund < 2 THEN"
    ),
    _postgres("again_no_refund", "requeue", " - h.ending_refund", ""),
    _postgres("again_keeps_stop", "requeue", "    stop_by = NULL,\n", ""),
    _postgres("finish_for_anyone", "finish", " AND a.token = e.ending_token", ""),
    _postgres(
        "renew_tells_no_stop",
        "renew",
        "1 AS ours, kept.stop_by",
        "1 AS ours, CAST(NULL AS text) AS stop_by",
    ),
    _postgres("finish_forgets_children", "finish", "c.due_at IS NULL", "c.due_at IS NOT NULL"),
    _postgres(
        "sweep_tells_parents_that_run",
        "sweep",
        "WHERE NOT EXISTS (SELECT 1 FROM duetime_actions AS u WHERE u.id = w.after)",
        "WHERE TRUE",
    ),
    _postgres(
        "prune_leaves_runs", "prune", "r.action_id = old.id", "r.action_id = old.id AND FALSE"
    ),
)
