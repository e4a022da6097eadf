"""What every section of a configuration promises, those of kinds in :data:`hyperspan.plugins.OPTIONS` too: its keys are
documented, have a role, go through TOML, and take nothing else.

Options of another kind are tested once they are a line in OPTIONS.
"""

from __future__ import annotations

import ast
import datetime
import inspect
import re
import tomllib
from collections.abc import Mapping
from dataclasses import field, make_dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import pytest

from hyperspan.config import SECTIONS, Config, CorpusConfig, KindOptions, Role, entries, key
from hyperspan.errors import InputError
from hyperspan.plugins import OPTIONS
from hyperspan.toml import build, check_section, to_toml, values_of

HINTS = get_type_hints(Config)
SUBJECTS: dict[str, type] = {name: HINTS[name] for name in SECTIONS} | {
    name: OPTIONS[name] for name in OPTIONS.built_in
}
kinds = pytest.mark.parametrize("kind", OPTIONS.built_in)


def is_text(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@pytest.mark.parametrize("section", [*SUBJECTS.values(), CorpusConfig], ids=lambda section: section.__name__)
def test_section_and_its_keys_have_docstrings(section: type) -> None:
    """From which the reference of all keys is generated."""
    [node] = ast.parse(inspect.getsource(section)).body
    assert isinstance(node, ast.ClassDef) and is_text(node.body[0])
    for entry, after in zip_longest(node.body, node.body[1:]):
        assert not isinstance(entry, ast.AnnAssign) or is_text(after), ast.unparse(entry)


@pytest.mark.parametrize("section", SUBJECTS)
def test_keys_of_a_section_have_a_role_besides_auto(section: str) -> None:
    """What training, warm starts and resumed runs do with it follows from that."""
    for name, entry in entries(section).items():
        roles = entry.metadata.get("roles", ())
        assert roles != ("auto",) and {*roles} and {*roles} <= {*get_args(Role)}, name
        assert "fixed" not in roles or {*roles} <= {"fixed", "auto"}, name


@kinds
def test_options_go_through_toml(kind: str) -> None:
    check_section(OPTIONS[kind])
    defaults = values_of(OPTIONS[kind]())
    config = Config.from_mapping({kind: defaults})
    assert config.kinds == {kind: defaults} and Config.from_toml(config.to_toml()) == config
    assert config.options(kind, OPTIONS[kind]) == OPTIONS[kind]()


@kinds
def test_options_take_no_other_keys_and_values(kind: str) -> None:
    for name in values_of(OPTIONS[kind]()):
        with pytest.raises(InputError, match=rf"{kind}\.{name} is datetime.* but must be "):
            Config.from_mapping({kind: {name: datetime.date(2026, 1, 2)}}).completed()
        with pytest.raises(InputError, match=rf"no key {kind}\.{name}_"):
            Config.from_mapping({kind: {f"{name}_": 1}}).completed()


GOOD_KEYS: list[tuple[Any, Any]] = [
    (bool, False),
    (float, 1),
    (Literal["a", "b"], "a"),
    (int | Literal["all"], "all"),
    (str | tuple[str, ...], ()),
    (tuple[float, ...], (0.5,)),
    (tuple[tuple[int, ...], ...], ((1,),)),
    (Mapping[str, float], field(default_factory=dict)),
    (Mapping[str, tuple[str, ...]], field(default_factory=dict)),
]


WRONG_KEYS: list[tuple[Any, Any, str]] = [
    (dict[str, str], field(default_factory=dict), "the type of key is dict[str, str], but must be int, float, "),
    (list[str], field(default_factory=list), "the type of key is list[str], but"),
    (Path, Path("x"), "the type of key is Path, but"),
    (str | None, None, "the type of key is str | None, but"),
    (Any, 1, "the type of key is typing.Any, but"),
    (Literal[1, 2], 1, "the type of key is typing.Literal[1, 2], but"),
    (tuple[int, int], (1, 2), "the type of key is tuple[int, int], but"),
    (Mapping[int, str], field(default_factory=dict), "the type of key is collections.abc.Mapping[int, str], but"),
    (str | Mapping[str, str], "", "the type of key is str | collections.abc.Mapping[str, str], but"),
    (int, key(5, low=1, high=3), "the default key is 5, but must be a whole number from 1 to 3"),
    (int, 2**70, "the default "),
    (Literal["a"], "b", "the default key is 'b', but must be \"a\""),
    (int, field(), "key has no default"),
]


def options_of(hint: Any, default: Any) -> type:
    return make_dataclass("Options", [("key", hint, default)], bases=(KindOptions,), frozen=True)


@pytest.mark.parametrize(("hint", "default"), GOOD_KEYS)
def test_a_key_of_a_kind_has_what_toml_can_hold(hint: Any, default: Any) -> None:
    options = options_of(hint, default)
    check_section(options)
    table = tomllib.loads(f"key = {to_toml(values_of(options())['key'])}")
    assert build(options, table) == options()
    with pytest.raises(InputError, match=r"key is datetime.* but must be "):
        build(options, {"key": datetime.date(2026, 1, 2)})


@pytest.mark.parametrize(("hint", "default", "message"), WRONG_KEYS)
def test_a_key_of_a_kind_with_what_toml_cannot_hold_is_refused(hint: Any, default: Any, message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        check_section(options_of(hint, default))


def test_options_of_a_kind_are_a_dataclass() -> None:
    class Plain(KindOptions):
        key: int = 3

    with pytest.raises(TypeError, match=r"Plain is no dataclass; write @dataclass\(frozen=True\) above it"):
        check_section(Plain)
