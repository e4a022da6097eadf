"""``python -m experiments.guarantees NAME``."""

from experiments import guarantees
from experiments.cli import run_group

if __name__ == "__main__":
    run_group(guarantees)
