"""The line of cron, run as cron runs it: by /bin/sh, with next to no environment."""

import fcntl
import json
import subprocess
from datetime import datetime, timezone

from cronsim import CronSim

from tests.maintain.lake import Lake
from tests.pyiceberg.committing import operations
from tests.recipes.places import RECIPES, placed

LINES = (RECIPES / "cron" / "iceberg-zorder").read_text(encoding="utf-8").splitlines()
*TIMES, USER, COMMAND = next(line for line in LINES if line[0].isdigit()).split(maxsplit=6)


def run(lake: Lake) -> str:
    """Run the command; returns what cron would mail."""
    environment = {"HOME": str(lake.home), "LOGNAME": USER, "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["/bin/sh", "-c", placed(COMMAND, lake)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    return done.stdout


def test_the_line_is_one_of_cron() -> None:
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    times = CronSim(" ".join(TIMES), at)
    assert [next(times).hour for _ in range(3)] == [0, 1, 2]
    assert "%" not in COMMAND, "cron makes a new line of it"
    assert len([line for line in LINES if not line.startswith(("#", "MAILTO="))]) == 1


def test_a_pass_that_is_done_is_not_mailed(lake: Lake) -> None:
    needy = lake.table("db.needy", 8)
    assert run(lake) == ""
    assert operations(needy)[-1] == "replace"
    events = [json.loads(line)["event"] for line in (lake.home / "passes.jsonl").read_text().splitlines()]
    assert (events[0], events[-1]) == ("pass-began", "pass-ended")


def test_variables_are_taken_literally(lake: Lake) -> None:
    lake.table("db.needy", 8)
    hostile = "a$$w0rd `touch here` $(touch here) ; touch here & \\t 'x' \"y\""
    command = placed(COMMAND, lake)
    (lake.home / "environment").write_text(f"# a comment\n\nLAKE_URI={lake.uri}\nHOSTILE={hostile}", encoding="utf-8")
    command = command.replace("out=$(", 'printf "%s" "$HOSTILE" > told; out=$(')
    environment = {"PATH": "/usr/bin:/bin"}
    subprocess.run(["/bin/sh", "-c", command], cwd=lake.home, env=environment, timeout=240, check=True)
    assert (lake.home / "told").read_text(encoding="utf-8") == hostile
    assert not (lake.home / "here").exists()


def test_a_pass_that_fails_is(lake: Lake) -> None:
    lake.broken_table("db.broken")
    told, *_ = (line for line in run(lake).splitlines() if "lake.db.broken" in line)
    assert "failed" in told


def test_a_pass_does_not_begin_before_the_last_one_has_ended(lake: Lake) -> None:
    needy = lake.table("db.needy", 8)
    with (lake.home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run(lake) == ""
    assert operations(needy)[-1] == "append"
