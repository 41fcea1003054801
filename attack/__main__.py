"""`python -m attack`: try to break the package, for as long as is given; exit code 1 if anything breaks."""

import argparse
import sys
import tempfile
from pathlib import Path

from attack.program import ATTACKS, attack, replay, table


def main() -> int:
    """Attack, or replay a failure."""
    parser = argparse.ArgumentParser(prog="python -m attack", description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="time for all attacks together (default: %(default)s)")
    parser.add_argument("--only", action="append", choices=sorted(ATTACKS), help="one attack; may be given several times")
    parser.add_argument(
        "--short", action="store_true", help="quick cases only, and about a minute unless --minutes is given"
    )
    parser.add_argument("--failures", type=Path, default=Path("attack-failures"), help="folder for cases that go wrong")
    parser.add_argument("--replay", type=Path, help="try the case of a file again")
    parser.add_argument("--table", type=Path, help="file to write the table to")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="attack-") as scratch:
        if given.replay is not None:
            problem = replay(given.replay, Path(scratch))
            print(problem or "This case goes well now.")
            return int(bool(problem))
        names = given.only or list(ATTACKS)
        minutes = 1.0 if given.short and "--minutes" not in " ".join(sys.argv) else given.minutes
        whole = sum(ATTACKS[name] for name in names)
        rows = []
        for name in names:
            print(f"{name} ...", flush=True)
            share = 60 * minutes * ATTACKS[name] / whole
            rows.append(attack(name, share, given.short, Path(scratch), given.failures))
        said = table(rows)
        print(said)
        if given.table is not None:
            given.table.write_text(said + "\n")
        return int(any(row.problems for row in rows))


if __name__ == "__main__":
    sys.exit(main())
