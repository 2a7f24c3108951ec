"""Tests of the command line, `duetime ...`.

Helpers:
    conftest         runs commands in the test's process, in a directory with a sample app
    command_host     runs commands on terminals, each in a process that is forked from another

By command:
    test_cli_actions, test_cli_jobs, test_cli_transitions   verbs on actions, jobs, transitions
    test_cli_worker, test_cli_processes, test_cli_rolling   workers, several of them, deployments
    test_cli_migrate, test_cli_doctor, test_cli_bench, test_cli_cron, test_cli_demo
    test_cli_notifications

Across commands:
    test_cli_main                        the entry point
    test_cli_mistakes, test_cli_remedies error messages, and the commands that they suggest
    test_cli_times                       times as users type and read them
"""
