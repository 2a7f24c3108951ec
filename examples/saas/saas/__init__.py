"""A small SaaS back end: subscriptions, billing and posts, and all that must happen later.

database                       the engine, the sessions and the tables
mail, subscriptions, billing   what happens later, each a `Router` of duetime
posts                          rows that change at their time
due                            the duetime app, which includes the routers
api                            the HTTP API
"""
