"""The faults of ``tests/mutations.toml`` can be tried at any time: their lines and tests are there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.mutations import (
    Mutation,
    MutationError,
    check_tests,
    copy_of,
    place_of,
    read_mutations,
    tried,
    wrongly_noticed,
)

MUTATIONS = read_mutations()


def test_every_line_is_there_once_and_so_are_its_tests() -> None:
    wrong: list[str] = []
    for mutation in MUTATIONS:
        try:
            place_of(mutation)
            check_tests(mutation)
        except MutationError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)


def test_there_are_forty_faults_of_one_line_in_every_kind_of_room() -> None:
    rooms = Counter(mutation.file.partition("/")[0] for mutation in MUTATIONS)
    mathematics = rooms["structures"] + rooms["kernels"] + rooms["training"]
    assert mathematics >= 16 and rooms["corpora"] >= 10 and rooms["bulk"] >= 8
    assert rooms.total() == 40
    assert len({mutation.old for mutation in MUTATIONS}) == len({mutation.what for mutation in MUTATIONS}) == 40
    assert not [one for one in MUTATIONS if "\n" in one.old + one.new or one.old == one.new]


HALF = Mutation("half is a third", "half.py", "return n / 2", "return n / 3", ("test_half.py",))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one function, and a test of it."""
    files = {
        "src/hyperspan/__init__.py": "",
        "src/hyperspan/half.py": "def half(n):\n    return n / 2\n",
        "tests/test_half.py": "from hyperspan.half import half\n\n\ndef test_half():\n    assert half(6) == 3\n",
        "tests/test_zero.py": "from hyperspan.half import half\n\n\ndef test_zero():\n    assert half(0) == 0\n",
        "tests/test_wrong.py": "def test_wrong():\n    assert 1 == 2\n",
        "pytest.ini": "[pytest]\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def test_a_fault_is_noticed_or_survives_and_the_checkout_stays_as_it_is(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # importing them takes most of the time
    with copy_of(checkout) as copy:
        found = tried(HALF, copy)
        assert found.noticed and found.by == "tests/test_half.py::test_half"
        assert not tried(Mutation(HALF.what, "", HALF.old, HALF.new, ("test_zero.py",)), copy).noticed
        wrong = tried(Mutation(HALF.what, "", HALF.old, HALF.new, ("test_wrong.py",)), copy)
        assert wrong.noticed and wrongly_noticed([found, wrong], copy) == [wrong]
        with pytest.raises(MutationError, match="could not be run"):
            tried(Mutation("a slip", "", "def half(n):", "def half(n:", ("test_half.py",)), copy)
        assert "/ 2" in (copy / "src/hyperspan/half.py").read_text(encoding="utf-8")
    assert "/ 2" in (checkout / "src/hyperspan/half.py").read_text(encoding="utf-8") and not copy.exists()


def test_a_line_is_found_wherever_it_stands_and_only_once(checkout: Path) -> None:
    moved = checkout / "src/hyperspan/other/halves.py"
    moved.parent.mkdir()
    (checkout / "src/hyperspan/half.py").rename(moved)
    assert place_of(HALF, checkout) == moved
    (checkout / "src/hyperspan/again.py").write_text("return n / 2", encoding="utf-8")
    with pytest.raises(MutationError, match=r"must be in src once, but is there 2 times, in src/hyperspan/again.py"):
        place_of(HALF, checkout)
    with pytest.raises(MutationError, match="0 times, in no file"):
        place_of(Mutation("nothing", "", "return n / 7", "", ("test_half.py",)), checkout)
    with pytest.raises(MutationError, match="names the tests"):
        check_tests(Mutation("no tests", "", "", "", ("test_none.py",)), checkout)
