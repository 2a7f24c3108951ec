"""Tests that the documentation agrees with the code. Its examples run in `test_docs.py`.

test_pages                           length, reachability and links of all pages
test_api_page, test_settings_table, test_cli_page   reference pages against the code
test_states_page                     documented state changes against a store
test_faults_page                     field faults and the tests named for them
test_architecture_page               files, names and folders named in ARCHITECTURE.md
test_deploy_page                     commands of containers, a unit of systemd
test_installing                      what a page says must be installed
"""
