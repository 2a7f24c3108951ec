"""Simulates a cluster in virtual time: real workers on an in-memory store, with random faults.

Each seed draws a scenario and yields one deterministic history, which is checked while it runs
and at its end. `python tests/simulation/replay.py SEED` prints a history.

The simulated world:
    virtual_loop          event loop in virtual time; processes that freeze and die
    clocks                wall clocks in virtual time, right or skewed
    scenario              what a seed draws: size of the cluster, settings, faults
    cluster               connects all parts; `run` runs one history
    node                  one machine with a real worker
    client                schedules, cancels, reschedules and retries actions
    pauser                pauses and resumes queues
    network               unreliable network between processes and the store
    faulty_store          the store as a process sees it, through the network
    real_store            the in-memory store itself
    handlers              payload types and handlers
    handler_script        what handlers do, drawn from the seed
    script_runner         runs the scripts
    chaos                 injects faults at random moments

Its checkers:
    trace                 events, violations and tally of a history
    transaction_checker   checks each transaction against an independent model
    expected_counters     attempts and losses of an action, part of that model
    chain_checker         settlement of children, part of that model
    pause_checker         what starts in paused queues
    lease_loss_causes     legitimate causes of a lost lease
    ledger                starts and ends of handlers, each checked at once
    liveness_monitor      finds work that healthy workers leave undone
    final_checker         guarantees at the end of a history

Many seeds, and the tests:
    campaign              runs many seeds on all cores
    replay                prints the trace of one seed
    mutants               faults patched into the real code
    test_cluster          guarantees hold under random faults
    test_neighbours       what an action that kills its worker costs the others
    test_determinism      a seed always yields the same history
    test_mutants          every mutant is caught
"""
