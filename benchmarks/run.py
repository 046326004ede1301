"""Run the benchmarks one after the other and put their tables into benchmarks/README.md.

    python benchmarks/run.py                    # all, as `make bench`
    python benchmarks/run.py --only query pdf   # some; the others' tables stay
    python benchmarks/run.py --quick            # small sizes; prints its tables and changes nothing
    python benchmarks/run.py --markdown         # prints the tables of the last runs, runs nothing
    python benchmarks/run.py --rewrite          # puts the tables of the last runs into the README, runs nothing

JSON goes to .cache/benchmarks/results (of quick runs to .cache/benchmarks/quick).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from common import CACHE, markdown

HERE = Path(__file__).resolve().parent
NAMES = ("start_up", "indexing", "query", "growth", "pdf")
README = HERE / "README.md"


def run(name: str, folder: Path, *, quick: bool, large: bool) -> None:
    """Run one benchmark."""
    more = ["--quick"] * quick + ["--large"] * (large and name == "growth")
    command = [sys.executable, str(HERE / f"{name}.py"), "--json", str(folder / f"{name}.json"), *more]
    print(f"--- {name} ---", file=sys.stderr, flush=True)
    subprocess.run(command, check=True)


def tables(name: str, folder: Path) -> str:
    """Return the tables of the last run."""
    return markdown(json.loads((folder / f"{name}.json").read_text("utf-8"))).strip()


def rewrite(name: str, text: str) -> None:
    """Put tables into their place in the README."""
    before = README.read_text("utf-8")
    place = re.compile(f"<!-- {name} -->.*<!-- end of {name} -->", re.S)
    README.write_text(place.sub(lambda _: f"<!-- {name} -->\n{text}\n<!-- end of {name} -->", before), "utf-8")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--large", action="store_true", help="1,000,000 chunks too")
    last = parser.add_mutually_exclusive_group()
    last.add_argument("--markdown", action="store_true", help="print the tables of the last runs")
    last.add_argument("--rewrite", action="store_true", help="put the tables of the last runs into the README")
    args = parser.parse_args()
    folder = CACHE / ("quick" if args.quick else "results")
    for name in args.only:
        if args.markdown:
            print(tables(name, folder))
            continue
        if not args.rewrite:
            run(name, folder, quick=args.quick, large=args.large)
        if not args.quick:
            rewrite(name, tables(name, folder))


if __name__ == "__main__":
    main()
