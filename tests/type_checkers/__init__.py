"""What type checkers say of users' code.

accepted, refused    code that must pass, and code whose marked lines must not
pages                the examples of the documentation as modules
test_type_checkers   mypy and basedpyright, each once over all of it and the example application
"""
