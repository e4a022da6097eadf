"""Functions as commands: what is parsed, refused and said in the help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest

from hyperspan.command_line import Argument, Command, Option
from hyperspan.errors import InputError

CALLS: list[dict[str, object]] = []


def stopped() -> None:
    CALLS.append({"stopped": True})


def try_out(
    first: Annotated[str, Argument(help="The first.")],
    others: Annotated[list[Path] | None, Argument()] = None,
    number: Annotated[int, Option("--number", "-n", min=1, max=9, help="From 1 to 9.")] = 3,
    share: Annotated[float | None, Option()] = None,
    kind: Annotated[Literal["a", "b"], Option("--kind")] = "a",
    name: Annotated[list[str] | None, Option("--name", "-m", metavar="NAME")] = None,
    loud: Annotated[bool, Option("--loud", "-l")] = False,
    key: Annotated[str | None, Option(envvar="TRY_OUT_KEY", hidden=True)] = None,
    stop: Annotated[bool, Option("--stop", callback=stopped)] = False,
) -> None:
    """Try it out.

    Example: try-out one
    """
    CALLS.append(dict(locals()))


DEFAULTS = {"others": None, "number": 3, "share": None, "kind": "a", "name": None, "loud": False, "key": None}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["x"], {"first": "x"}),
        (["-"], {"first": "-"}),
        (["x", "y", "--loud", "z"], {"first": "x", "others": [Path("y"), Path("z")], "loud": True}),
        (["-n", "9", "x"], {"first": "x", "number": 9}),
        (["-n9", "--share=-1.5", "x"], {"first": "x", "number": 9, "share": -1.5}),
        (["x", "--share", "-1"], {"first": "x", "share": -1.0}),
        (["x", "-m", "--loud", "--name="], {"first": "x", "name": ["--loud", ""]}),
        (["--kind", "a", "--kind", "b", "--", "--loud"], {"first": "--loud", "kind": "b"}),
    ],
)
def test_command_lines_are_parsed(words: list[str], expected: dict[str, object]) -> None:
    CALLS.clear()
    Command(try_out, "try-out")(words)
    assert [DEFAULTS | expected | {"stop": False}] == CALLS


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Missing argument 'first'"),
        (["x", "-n", "0"], "Invalid value for '--number' / '-n': 0 is not at least 1 and at most 9"),
        (["x", "-n", "nan"], "'nan' is not a whole number"),
        (["x", "-n", "1" * 5000], "is not a whole number"),
        (["x", "--share", "much"], "Invalid value for '--share': 'much' is not a number"),
        (["x", "--kind", "c"], "'c' is not one of 'a', 'b'"),
        (["x", "--numbr", "1"], "No such option: --numbr; did you mean --number?"),
        (["x", "--number"], "Option '--number' needs a value"),
        (["x", "--loud=yes"], "Option '--loud' is a flag and takes no value"),
        (["x", "-lm"], "Option '-l' is a flag and takes no value"),
    ],
)
def test_mistakes_are_refused_with_a_sentence(words: list[str], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Command(try_out, "try-out")(words)
    assert sentence in str(caught.value) and str(caught.value).endswith("; see try-out --help")


def test_one_argument_too_many_is_refused() -> None:
    def one(first: Annotated[str, Argument()]) -> None: ...

    with pytest.raises(InputError, match="'y' is one argument too many; see one --help"):
        Command(one, "one")(["x", "y"])


def test_a_verbatim_argument_takes_all_that_follows(capsys: pytest.CaptureFixture[str]) -> None:
    def outer(
        name: Annotated[str, Argument()], rest: Annotated[list[str] | None, Argument(verbatim=True)] = None
    ) -> None:
        print(name, rest)

    Command(outer, "outer")(["x", "-h", "--", "--loud"])
    assert capsys.readouterr().out == "x ['-h', '--', '--loud']\n"


def test_flags_with_a_callback_stop_before_anything_is_missing() -> None:
    CALLS.clear()
    Command(try_out, "try-out")(["--stop"])
    assert CALLS == [{"stopped": True}]


def test_the_environment_gives_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRY_OUT_KEY", "secret")
    CALLS.clear()
    Command(try_out, "try-out")(["x"])
    Command(try_out, "try-out")(["x", "--key", "given"])
    assert [call["key"] for call in CALLS] == ["secret", "given"]


def test_help_names_all_that_is_not_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    Command(try_out, "try-out")(["x", "-h"])
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: try-out [OPTIONS] FIRST OTHERS...\n\nTry it out.\n\nExample: try-out one\n")
    assert "--number, -n INTEGER" in shown and "From 1 to 9. [default: 3]" in shown and "--kind a|b" in shown
    assert "The first. [required]" in shown and "--name, -m NAME" in shown and "--key" not in shown
