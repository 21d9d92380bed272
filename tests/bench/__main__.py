"""Every benchmark: one part after the other, the results in docs/benchmarks.json, tables and charts made from them.

    python -m tests.bench [PART …] [--data LOCOMO.json] [--quick]

Without parts, all of them run. A part runs in a process of its own with a limit of time; one that fails or is cut off is
noted with its error, keeps nobody else from running, and leaves what it had written. Parts that do not run now keep their
figures of before. `--quick` makes everything small, to see that it works, and writes to .cache/benchmarks instead.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.gateway import ROOT
from tests.bench.machine import facts
from tests.bench.report import CHARTS, charts, report

PLACE, QUICK_PLACE = ROOT / "docs", ROOT / ".cache" / "benchmarks"
LOCOMO = ROOT.parent / "shared" / "data" / "locomo_dev.json"


@dataclass(frozen=True, slots=True)
class Part:
    """A benchmark: its module and arguments, how long it may take, and the arguments that make it small."""

    module: str
    seconds: int
    arguments: Sequence[str] = ()
    quick: Sequence[str] = ()
    data: bool = False
    """Whether it needs the LoCoMo file."""

    def command(self, data: Path | None, quick: bool) -> list[str]:
        chosen = [*self.arguments, *(["--data", str(data)] if self.data else []), *(self.quick if quick else [])]
        return ["python", "-m", f"tests.bench.{self.module}", *chosen]


PARTS = {
    "working": Part("http", 120),
    "episodes": Part("episodes", 300, quick=["--sizes", "1000"]),
    "throughput": Part("throughput", 150, quick=["--size", "1000", "--seconds", "0.3"]),
    "firestore": Part("firestore", 120, quick=["--size", "500"]),
    "packages": Part("packages", 180),
    "graph": Part("graph", 180),
    "rest": Part("rest", 120, data=True),
    "recall": Part("recall", 240, data=True),
    "recall-http": Part("recall", 180, ["--http"], data=True),
    "peers": Part("peers", 700, ["--seconds", "24"], ["--seconds", "3", "--size", "500"], data=True),
}


def run(name: str, part: Part, data: Path | None, quick: bool) -> dict[str, Any]:
    """What a part measured, or the last words of one that failed."""
    command = part.command(data, quick)
    noted: dict[str, Any] = {"command": " ".join(command).replace(str(ROOT.parent), "..")}
    noted["date"] = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    if part.data and data is None:
        return {**noted, "error": "needs --data: the LoCoMo file, which https://github.com/snap-research/locomo has"}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        out, log = Path(folder) / "out.json", Path(folder) / "log"
        error = ""
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, *command[1:], "--json", str(out)], cwd=ROOT, stdout=file, stderr=subprocess.STDOUT
            )
            try:
                if process.wait(part.seconds):
                    error = f"ended with status {process.returncode}"
            except subprocess.TimeoutExpired:
                error = f"was cut off after {part.seconds} s"
                process.terminate()
                process.wait()
        noted["seconds"] = round(time.monotonic() - began)
        if out.exists():
            noted["result"] = json.loads(out.read_text())
        if error:
            noted["error"] = f"{error}: {' '.join(log.read_text(errors='replace').split())[-300:]}"
    return noted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--data", type=Path, default=LOCOMO if LOCOMO.exists() else None)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    place = QUICK_PLACE if args.quick else PLACE
    results = place / "benchmarks.json"
    known = json.loads(results.read_text()) if results.exists() else {"parts": {}}
    known["machine"] = facts()
    for name in args.parts or PARTS:
        print(f"{name} …", flush=True)
        known["parts"][name] = run(name, PARTS[name], args.data, args.quick)
        print(f"  {known['parts'][name].get('error') or 'done'} ({known['parts'][name].get('seconds', 0)} s)", flush=True)
        write(known, place)


def write(known: dict[str, Any], place: Path) -> None:
    """The results, and the page and charts made from them; after every part, so that nothing is lost."""
    known["parts"] = {name: known["parts"][name] for name in PARTS if name in known["parts"]}
    (place / CHARTS).mkdir(parents=True, exist_ok=True)
    (place / "benchmarks.json").write_text(json.dumps(known, indent=2) + "\n")
    drawn = charts(known)
    for name, drawing in drawn.items():
        (place / CHARTS / f"{name}.svg").write_text(drawing)
    (place / "benchmarks.md").write_text(report(known, list(drawn)))


if __name__ == "__main__":
    main()
