"""Charts: SVG made from values, by pure functions. What `charts.css` says colours them.

No chart knows the time, and each has a size of its own that data does not change. They hold no
style and no script. What is drawn is bounded, however many values there are: they are folded into
counts. Whatever has a colour has a shape or a word, too.
"""
