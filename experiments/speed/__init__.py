"""Measure how fast hyperspan is on this machine: python -m experiments.speed NAME."""

COMMANDS = {
    "bundled": "the bundled models on raw text, compared with spaCy's spancat: F1, speed, latency, startup, memory",
    "decode": "many sentences at once, as a share of the machine's peak throughput",
    "latency": "one sentence at a time, and startup of the command",
    "train": "steps of the training loop",
    "rows": "training and decoding of configurations, relative to the first",
    "cost": "time and memory of a configuration, in training and in inference",
    "structures": "exact inference, compared with an elementwise exp and a Python loop",
    "reading": "reading files of annotated text",
    "batches": "batches of Arrow, by their rows",
    "bulk": "bulk jobs of all engines, on this machine",
    "bulk-gpu": "bulk jobs from raw text to shards, with several workers for one GPU",
    "server": "requests to a server, compared with the library",
    "soak": "whether a server's memory levels off",
    "attacks": "what a server does while it is attacked",
}
"""The commands, each a module with a ``run``."""
WITHOUT_TORCH = ("bundled", "batches", "reading", "server", "soak", "attacks")
"""The commands that run without torch."""
