"""How fast hyperspan is, and how fast it learns. A module is one benchmark: ``run`` takes its options and returns
figures. Imports anything of ours."""

BENCHMARKS = {
    "bundled": "the bundled models from raw text, beside spaCy's spancat; their F1, latency, start and memory",
    "domain": "how well the bundled models tell their own text from others",
    "decode": "many sentences at once, as a share of what this machine's matrix products allow",
    "latency": "one sentence at a time, and the start of the command",
    "train": "steps of the training loop",
    "parallel": "training with one process and with two",
    "learning-curve": "F1 and time to train against training sentences, beside spaCy's spancat",
    "active": "how many words of labelling hyperspan suggest saves, against random order",
    "partial": "F1 from partial annotation, beside full annotation and taking the rest as absent",
    "dependence": "how probable gold sets of mentions are where mentions depend on each other, and where they do not",
    "discontinuous": "F1 on discontinuous mentions, beside models that leave them out, and other ways to treat them",
    "cost": "time and memory of a configuration, in training and in inference",
    "bulk": "bulk jobs from raw text to shards, with several workers for one GPU",
    "inference": "exact inference beside an elementwise exp and a loop in Python",
    "read": "reading files of annotated text",
}
"""What ``hyperspan benchmark`` offers."""
WITHOUT_TORCH = ("bundled", "domain", "read")
"""Those that run where torch is not installed."""
