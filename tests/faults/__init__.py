"""Injects faults into real processes, real servers and real connections.

`python -m faults` in tests/, or `make faults`, runs the campaigns.

Campaigns, each named in `catalog`:
    kill, halt            SIGKILL at crash points or at random; SIGSTOP and SIGCONT
    network, lost_reply   broken connections; lost replies to commits
    restart               restarts and crashes of PostgreSQL
    crash_after_claim     crashes of PostgreSQL between a pre-claim and its start
    forged_wakes          messages of a stranger on the channel of wakes
    race                  cancel and reschedule against claims
    burst                 many actions due at one instant
    damage                columns of rows written over by somebody else

Parts of a campaign:
    campaign              store, ledger, client and processes of a campaign, and its final checks
    campaign_stores       SQLite file or private PostgreSQL server
    processes             starts, freezes, stops and kills processes
    worker_main           a worker process
    client_process        a client thread, or a client process
    work_order            the order of a process, and the recorder of its handlers
    crash_points          named places at which a process kills itself
    task_stacks           logs where the tasks of a process wait
    ledger                table in which handlers record their runs
    oracle                checks a history by the public API and the ledger
    recovery              checks that workers run and listen again after a fault
    progress              progress and result of a campaign

Apps of the workers:
    plain_app, transactional_app, ticking_app   at least once, exactly once, with jobs
    rough_app             handlers that block or crash their worker
    mutant_app            faults patched into the real code

Faulty surroundings:
    proxy, pg_protocol, reply_dropper   TCP proxy that breaks connections and drops replies
    pooler, disk          PgBouncer; a small disk

Tests:
    test_campaigns        each campaign with few faults
    test_oracle           the oracle detects violations
    test_rough_handlers   blocking and crashing handlers
    test_disk, test_pooler, test_proxy   full disk, PgBouncer, broken connections
"""
