"""Interfaces as they were agreed: resolved configurations, and the options of commands with their defaults.

A change of them is wanted or an accident. ``python -m tests.frozen --write`` renews the files, whose difference is then
read with the rest of the change.
"""
