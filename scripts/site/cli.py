"""The page of all commands, made from the command line itself: ``python -m scripts.site.cli`` prints it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from hyperspan.cli import COMMANDS, make_app

INTRODUCTION = """\
# Command line

This page lists every command with its options. `hyperspan COMMAND --help` prints the same in the terminal.

- Results go to standard output. Messages, notes and progress go to standard error.
- `-` stands for standard input where a file is expected.
- Existing files are never overwritten without `--force`.
- The exit status is 0 on success, 2 on invalid usage or input, and 130 after Ctrl-C.
"""

VARIABLES = {
    "HYPERSPAN_API_KEY": "The key that callers of `hyperspan serve` send, in place of `--api-key`.",
    "HYPERSPAN_KERNELS": "`reference` for plain NumPy and PyTorch, `c` for C and no Triton; see [kernels](../speed.md#kernels).",
    "OMP_NUM_THREADS": "How many threads compute; `--threads` sets it. Default: all CPUs of the process.",
    "GOMP_SPINCOUNT": "How long idle threads of PyTorch spin. Commands set it to 10000, unless `OMP_WAIT_POLICY` is set.",
    "CC": "The compiler of the kernels, when hyperspan is installed; `none` for no kernels.",
    "CUDA_MPS_PIPE_DIRECTORY": "Where NVIDIA's service for several processes on a GPU listens; see [many files](../how-to/batch.md).",
    "RAY_ADDRESS": "The Ray cluster of `hyperspan bulk --engine ray`, in place of `--ray-address`.",
    "SOURCE_DATE_EPOCH": "The date that HTML pages show, in seconds since 1970, so that they can be made again byte by byte.",
    "WORLD_SIZE": "Set by `torchrun`. Training with more than one process is refused.",
}
"""The environment variables that hyperspan reads."""


def cli_page() -> str:
    """The page, in Markdown."""
    commands = typer.main.get_group(make_app()).commands
    overview = ["| to … | commands |", "|---|---|"]
    for panel in dict.fromkeys(panel for panel, _ in COMMANDS.values()):
        names = [name for name, (of, _) in COMMANDS.items() if of == panel]
        overview.append(f"| {panel.lower()} | {', '.join(f'[{name}](#hyperspan-{name})' for name in names)} |")
    variables = ["## Environment variables", "", "| variable | meaning |", "|---|---|"]
    variables += [f"| `{name}` | {meaning} |" for name, meaning in VARIABLES.items()]
    return "\n".join([INTRODUCTION, *overview, "", *_commands(commands), "", *variables, ""])


def _commands(commands: Mapping[str, Any], group: str = "") -> Iterator[str]:
    """The sections of commands; of a group, those of the commands inside it follow."""
    for name in COMMANDS if not group else commands:
        yield _command(f"{group}{name}", commands[name])
        yield from _commands(getattr(commands[name], "commands", {}), f"{name} ")


def _command(name: str, command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument" and not one.hidden]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    inner = ["COMMAND", "…"] if hasattr(command, "commands") else []
    usage = " ".join(["hyperspan", name, *inner, *(_placeholder(one) for one in arguments), "[OPTIONS]"])
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    examples = [part.removeprefix("Example: ") for part in paragraphs if part.startswith("Example: ")]
    prose = [part for part in paragraphs if not part.startswith("Example: ")]
    lines = [f"## hyperspan {name}", "", *(f"{_text(part)}\n" for part in prose)]
    lines += ["```console", f"$ {usage}", *(f"$ {example}" for example in examples), "```", ""]
    if arguments:
        lines += ["| argument | meaning |", "|---|---|"]
        lines += [f"| `{_placeholder(one)}` | {_meaning(one)} |" for one in arguments]
        lines.append("")
    if options:
        lines += ["| option | meaning |", "|---|---|"]
        lines += [f"| {_names(one)} | {_meaning(one)} |" for one in options]
        lines.append("")
    return "\n".join(lines)


def _placeholder(argument: Any) -> str:
    shown = argument.metavar or argument.name.upper()
    return shown if argument.required or shown.startswith("[") else f"[{shown}]"


def _names(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    if option.is_flag:
        return names
    value = option.metavar or _type(option.type)
    return f"{names} `{value}`"


def _type(kind: Any) -> str:
    """
    >>> from types import SimpleNamespace
    >>> _type(SimpleNamespace(name="choice", choices=["raise", "skip"])), _type(SimpleNamespace(name="integer range"))
    ('raise|skip', 'INTEGER')
    """
    if choices := getattr(kind, "choices", None):
        return "|".join(map(str, choices))
    return kind.name.removesuffix(" range").upper()


def _meaning(parameter: Any) -> str:
    meaning = _text(parameter.help or "")
    default = parameter.default
    if default in (None, False, "", (), []) or "Default:" in meaning or callable(default):
        return meaning
    return f"{meaning} Default: `{default}`."


def _text(words: str) -> str:
    """Options and commands inside prose become code; what Markdown would take for markup is escaped.

    >>> _text("See hyperspan info, or --force; a|b <x>")
    'See `hyperspan info`, or `--force`; a\\\\|b \\\\<x>'
    """
    words = re.sub(r"([|<*_])", r"\\\1", " ".join(words.split()))
    words = re.sub(r"(?<![\w`-])(--[a-z][\w-]*)", r"`\1`", words)
    return re.sub(rf"(?<![\w`])(hyperspan (?:{'|'.join(COMMANDS)}))(?!\w)", r"`\1`", words)


if __name__ == "__main__":
    print(cli_page())
