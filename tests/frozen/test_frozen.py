"""Interfaces change on purpose alone."""

from __future__ import annotations

import json

import pytest

from hyperspan.config import Config
from tests.frozen.interfaces import FOLDER, INTERFACES, RENEW, commands, configurations, differences, lines_of, resolved


@pytest.mark.parametrize("name", INTERFACES)
def test_interfaces_are_as_frozen(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    changed = differences(json.loads(text), INTERFACES[name]())
    more = [f"and {len(changed) - 20} differences more"] if len(changed) > 20 else []
    assert not changed, "\n".join(["", *changed[:20], *more, f"if this is wanted: {RENEW}"])
    assert text == lines_of(json.loads(text)), f"the file is sorted, an entry a line; {RENEW}"


def test_every_configuration_can_be_made_again_from_its_line() -> None:
    frozen = json.loads((FOLDER / "configurations.json").read_text(encoding="utf-8"))
    for name, config in resolved().items():
        tables: dict[str, dict[str, object]] = {}
        for key, value in frozen[name].items():
            section, _, option = key.partition(".")
            tables.setdefault(section, {})[option] = value
        assert Config.from_mapping(tables).completed() == config.completed()


def test_every_command_and_option_is_there() -> None:
    found = commands()
    assert "--model -m" in found["hyperspan annotate"] and "--version" in found["hyperspan"]
    assert sum(map(len, found.values())) > 100
    assert "Posix" not in lines_of(found)


def test_a_changed_default_is_named() -> None:
    now = configurations()
    before = {**now, "[words]": {**now["[words]"], "min_count": 7}}
    assert differences(before, now) == ["[words]: min_count was 7 and is 1"]
    assert differences(now, now) == []
