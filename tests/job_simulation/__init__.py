"""Simulates months of recurring jobs in virtual time, with faults, releases and operators.

Built on the parts of `simulation`. Every tick of every job must be accounted for exactly once.
`python tests/job_simulation/replay.py SEED` prints a history.

The simulated world:
    scenario              what a seed draws: start, jobs, releases, cluster, faults
    job_specs             random job definitions
    release               a deployed version of the code, with its declared jobs
    cluster               connects all parts; `run` runs one history
    node                  one machine that runs a release
    handlers              what the handlers of jobs do
    operators             make calls of `app.jobs` at any time
    operator_call         one such call, as intended
    network               unreliable network, observed by the job checker
    recording_store       the real store, which records what each edit changed

Its checkers:
    job_checker           checks each transaction against an independent model of all jobs
    expected_job          the model of one job: its due ticks and their fates
    operator_checker      checks the effect of each operator call
    final_checker         compares model and store at the end

Many seeds, and the tests:
    campaign              runs many seeds on all cores
    replay                prints the trace of one seed
    mutants               faults patched into the real code
    test_job_simulation   ticks under faults, without faults, and determinism
    test_job_mutants      every mutant is caught
"""
