"""The other systems of the paper's tables and those compared since, on the public interfaces of structures and nn.

Imports values, text, corpora, structures, runtime, nn and training; nothing below the front ends imports it.
"""
