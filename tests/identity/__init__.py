"""Tests of who sends a request.

Helpers:
    provider         an OpenID Connect provider on this machine, and the tokens that it signs
    requests         requests as their facts

    test_keys        API keys, and the limit of failures
    test_tokens      tokens of a provider: which are refused
    test_provider    the provider's keys: new ones, storms of unknown ones, outages
    test_public_provider a provider that others wrote, and a person who signs in there
    test_request_facts   addresses, proxies, and what is of this machine
    test_hosts       the host's own means, and development
    test_sign_in     one-time links and sessions
    test_refusals    the audit entries of refused requests
    test_tokens_over_http    tokens and keys as they come with requests
"""
