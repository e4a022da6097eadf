"""``python -m experiments.study NAME``."""

from experiments import study
from experiments.cli import run_group

if __name__ == "__main__":
    run_group(study)
