"""What a test has started is found and ended, even if it has lost its parent."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys

from tests.bulk.processes import below, have_ended, kill_all, with_variable

ORPHANS = """
import subprocess, sys
for _ in range(3):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
"""


def test_processes_without_their_parent_are_ended() -> None:
    token = secrets.token_hex(16)
    subprocess.run([sys.executable, "-c", ORPHANS], env=os.environ | {"OF_THIS_TEST": token}, check=True)
    orphans = with_variable("OF_THIS_TEST", token)
    assert len(orphans) == 3 and not set(orphans).intersection(below(os.getpid()))
    assert kill_all(lambda: with_variable("OF_THIS_TEST", token)) == set(orphans)
    assert have_ended(orphans, 20) and not with_variable("OF_THIS_TEST", token)
