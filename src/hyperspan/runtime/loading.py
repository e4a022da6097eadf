"""Load models by name or folder."""

from __future__ import annotations

import math
import os
import re
from numbers import Real
from pathlib import Path
from types import NoneType

from hyperspan.config import Config
from hyperspan.errors import InputError, MissingExtraError, check_kind, is_installed, require_torch
from hyperspan.kernels import choice
from hyperspan.kernels.choice import VARIABLE, choose, forced
from hyperspan.plugins import MODELS, imported
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.cards import ModelCard
from hyperspan.runtime.folders import DEFAULT_MODEL, folder_of
from hyperspan.runtime.model import ArrayModel, obstacle
from hyperspan.text.vocabulary import Vocabulary

_DEVICE = re.compile(r"(cpu|cuda|mps|xpu)(:\d{1,3})?")


def load(
    name_or_path: str | Path = DEFAULT_MODEL,
    device: str = "cpu",
    dtype: str = "float32",
    skip: float | None = None,
) -> Annotator:
    """Load a bundled model, by name, or the model in a folder, and return an annotator.

    - `name_or_path`: a bundled model (english, genia, craft or litbank) or a folder that `hyperspan.train` wrote.
    - `device`: where the model runs: cpu, cuda, cuda:1, … Neural segmental, joint and discontinuous models, such
      as the bundled ones, run on the CPU without PyTorch. GPUs and other models need it.
    - `dtype`: "float32", or "bfloat16", which is almost twice as fast on CPUs that support it; scores then have two
      to three digits.
    - `skip`: skip words that are unlikely to start a mention: those where, for all types, the score of starting no
      mention exceeds that of starting one by more than this margin. The default None uses the margin that the model was
      saved with, but only for the most probable set or thresholds of at least 0.1, without constraints. `math.inf`
      skips no words.

    >>> from hyperspan import load
    >>> annotate = load("genia")
    >>> annotate.labels
    ('DNA', 'RNA', 'cell_line', 'cell_type', 'protein')
    >>> [(mention.text, mention.label) for mention in annotate("IL-2 binds.").mentions]
    [('IL-2', 'protein')]
    """
    check_kind("the device", device, str)
    check_kind("skip", skip, Real, NoneType)
    folder = folder_of(name_or_path)
    config, card = Config.of_model(folder), ModelCard.read_or_warn(folder)
    skips = skip is not None and skip < math.inf
    if device == "cpu" and not (obstacle(config) or kernels_obstacle()):
        model = ArrayModel.from_folder(folder, config, Vocabulary.load(folder), dtype=dtype, skip=skip)
        return Annotator(model, card=card, skips=skips)
    _require_torch(folder, config, device)
    check_device(device)
    load_model = imported("hyperspan.nn.folders:load_model")
    return Annotator(load_model(folder, device, dtype=dtype, skip=skip), card=card, skips=skips)


def kernels_obstacle() -> str | None:
    """Return why the C kernels do not run on the CPU; None if they do."""
    for computation in ("encoder", "argmax"):
        if choose(computation, "cpu") != "c":
            return choice.obstacle(computation, "c", "cpu", forced()) or "is not allowed"
    return None


def _require_torch(folder: Path, config: Config, device: str) -> None:
    """Raise an error that explains why this model needs torch, unless torch is installed."""
    if is_installed("torch"):
        return
    kind = config.model.kind
    if kind not in MODELS:
        raise InputError(f"model.kind is {kind!r}, but must be one of {', '.join(MODELS)} ({folder})")
    if not _DEVICE.fullmatch(device):
        raise _no_device(device)
    if config.transformer.name:
        raise MissingExtraError(
            f"a model with transformer.name = {config.transformer.name!r} ({folder})", "transformers"
        )
    if setting := obstacle(config):
        require_torch(f"a model with {setting} ({folder})")
    if device != "cpu":
        require_torch(f"the device {device!r}")
    allowed, written = forced(), os.environ.get(VARIABLE)
    if allowed is not None and "c" not in allowed.names:
        what = f"{VARIABLE}={written} leaves" if written else "hyperspan.kernels.only or reference leave"
        raise InputError(
            f"{what} the C kernels out, and PyTorch, which then does their work, is not installed; "
            f'{"unset the variable" if written else "allow c"}, or pip install "hyperspan[train]"'
        )
    raise InputError(
        f"the C kernels cannot run here ({(kernels_obstacle() or '').partition(';')[0]}), and PyTorch, which does their work "
        "more slowly, is not installed; install a wheel of hyperspan or a C compiler and hyperspan again, or pip install "
        '"hyperspan[train]"'
    )


def check_device(device: str) -> None:
    """Raise an error if a device cannot compute. Needs torch."""
    import torch

    try:
        torch.device(device)
    except RuntimeError:
        raise _no_device(device) from None
    try:
        torch.empty(1, device=device).item()  # fails on devices without data, such as meta
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # differs by how torch was built
        reason = str(error).partition("\n")[0].removesuffix(".")
        others = "" if device.startswith("cuda") else ", or cuda where there is a GPU"
        raise InputError(f"the device {device!r} cannot be used ({reason}); choose cpu{others}") from None


def _no_device(device: str) -> InputError:
    return InputError(f"there is no device {device!r}; choose cpu, cuda, cuda:1")
