"""``python -m tests.frozen``: compares interfaces with their frozen files; with --write it renews the files."""

from __future__ import annotations

import argparse
import json
import sys

from tests.frozen.interfaces import FOLDER, INTERFACES, RENEW, differences, lines_of


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew the files")
    given = parser.parse_args()
    different = False
    for name, interface in INTERFACES.items():
        path, now = FOLDER / name, interface()
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        changed = differences(before, now)
        different |= bool(changed)
        print(f"{name}: {len(changed)} differences", *changed, sep="\n  ")
        if given.write:
            path.write_text(lines_of(now), encoding="utf-8")
    if different and not given.write:
        print(f"if they are wanted: {RENEW}")
    return int(different and not given.write)


if __name__ == "__main__":
    sys.exit(main())
