"""Compare contextualdag with other packages on the same simulated data, and write tables and a picture.

Run `python -m benchmarks.peers --quick` in the root of the repository. Finished cells are kept in OUT/peer-cells, so an
interrupted run is resumed by the same command. contextualized-ml and gCastle are installed into environments of their own
(1.4 GB each).
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers.comparison import PEERS, peer_cells, peer_version, run_peers
from benchmarks.peers.figures import write_peers
from contextualdag.errors import InvalidParameterError
from contextualdag.sweeps.store import load_results


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a small version")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for all files (default: %(default)s)")
    parser.add_argument("--data-sets", type=int, help="number of data sets for each size and variant")
    parser.add_argument("--methods", help=f"comma-separated methods of {', '.join(PEERS)} (default: all)")
    parser.add_argument("--device", default="auto", help="device to fit on: auto, cpu or cuda")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", help="address of a Dask scheduler, tcp://...")
    where.add_argument("--workers", type=int, help="number of local processes")
    options = parser.parse_args()
    methods = None if options.methods is None else [method.strip() for method in options.methods.split(",")]
    try:
        peer_cells(options.quick, options.data_sets, methods)
    except InvalidParameterError as error:
        parser.error(str(error))
    cells = options.out / "peer-cells"
    report = run_peers(
        cells,
        quick=options.quick,
        device=options.device,
        data_sets=options.data_sets,
        methods=methods,
        scheduler=options.scheduler,
        workers=options.workers,
        progress=_show,
    )
    for path in write_peers(options.out, load_results(cells, peer_version), quick=options.quick):
        print(path)
    for cell, message in report.failed:
        print(f"Failed: {dict(cell)}: {message}", file=sys.stderr)
    return 1 if report.failed else 0


def _show(done: int, total: int, cell: Any) -> None:
    print(f"{done} of {total} cells", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
