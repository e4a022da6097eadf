"""``python -m experiments.speed NAME``."""

from experiments import speed
from experiments.cli import run_group

if __name__ == "__main__":
    run_group(speed)
