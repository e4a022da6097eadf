"""Benchmarks of speed and learning. Each module is one benchmark: ``run`` takes its options and returns figures. May
import all of hyperspan."""

BENCHMARKS = {
    "bundled": "the bundled models on raw text, compared with spaCy's spancat: F1, speed, latency, startup, memory",
    "domain": "how well the bundled models detect text unlike their training text",
    "decode": "many sentences at once, as a share of the machine's peak matrix throughput",
    "latency": "one sentence at a time, and startup of the command",
    "train": "steps of the training loop",
    "learning-curve": "F1 and training time by corpus size, compared with spaCy's spancat",
    "active": "words of labelling that hyperspan suggest saves, compared with random order",
    "partial": "F1 from partial annotation, compared with full annotation and with treating unknown as absent",
    "discontinuous": "F1 on discontinuous mentions, compared with other ways to treat them",
    "cost": "time and memory of a configuration, in training and in inference",
    "bulk": "bulk jobs from raw text to shards, with several workers for one GPU",
    "inference": "exact inference, compared with an elementwise exp and a Python loop",
    "read": "reading files of annotated text",
}
"""The benchmarks of ``hyperspan benchmark``."""
WITHOUT_TORCH = ("bundled", "domain", "read")
"""The benchmarks that run without torch."""
