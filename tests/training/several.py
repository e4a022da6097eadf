"""What each process does that torchrun starts for tests/training/test_parallel.py: one training after the other.

The file named on the command line lists them: a configuration, what is changed in it, a folder, and whether it is
resumed. At last each process begins with a seed of its own, which is refused.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import torch

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.training.run import train


def main(plan: Path) -> None:
    torch.set_num_threads(1)
    trainings = json.loads(plan.read_text(encoding="utf-8"))
    for config, changes, folder, resume in trainings:
        train(Config.read(config, changes), Path(folder), device="cpu", resume=resume)
    different = Config.read(trainings[0][0], [f"training.seed={os.environ['RANK']}"])
    try:
        train(different, plan.parent / "different", device="cpu")
    except InputError as error:
        print(f"refused: {error}", flush=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
