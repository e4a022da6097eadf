"""What commands import: once, in the process that they are forked from, whose objects their garbage collectors skip."""

from __future__ import annotations

import gc
from importlib import import_module

from hyperspan.cli import COMMANDS

for name in COMMANDS:
    import_module(f"hyperspan.cli.{name}")
for name in ("hyperspan.runtime.decoding", "hyperspan.training.run", "rich.table", "typer.rich_utils"):
    import_module(name)
import_module("torch._dynamo")  # which every optimizer imports
gc.collect()
gc.freeze()
