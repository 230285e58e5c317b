"""What is printed: a header, a table for each task, and rows of CSV."""

from __future__ import annotations

import csv
import datetime
import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Optional

from arguments import TASKS
from libraries import Library
from workload import Workload

COLUMNS = (
    "graph", "vertices", "edges", "task", "library", "version", "call", "threads", "runs", "milliseconds", "answer", "verdict",
)  # fmt: skip
SIZED = ("mis", "color")
"""Tasks of which libraries have answers of different sizes."""


@dataclass
class Measurement:
    """The best time of a call on a graph, and what its answer was."""

    graph: str
    vertices: int
    edges: int
    task: str
    library: str
    call: str
    threads: int
    seconds: float = float("nan")
    runs: int = 0
    note: str = ""
    wrong: Optional[str] = None
    failure: Optional[str] = None

    @property
    def key(self) -> str:
        return f"{self.library} ({self.call})"

    @property
    def verdict(self) -> str:
        """`right`, or what is wrong."""
        if self.failure:
            return f"failed: {self.failure}"
        return f"WRONG: {self.wrong}" if self.wrong else "right"


class Log:
    """A file of CSV, which gets rows as they are measured; nothing without a path."""

    def __init__(self, path: Optional[str], kinds: list[type[Library]]) -> None:
        self.versions = {kind.name: kind.version() for kind in kinds}
        self.file: Optional[IO[str]] = None
        if path is not None:
            self.file = open(path, "w", newline="", encoding="utf-8")
            self.writer = csv.writer(self.file, lineterminator="\n")
            self.writer.writerow(COLUMNS)

    def add(self, rows: list[Measurement]) -> None:
        """Writes a row for each measurement."""
        if self.file is None:
            return
        for row in rows:
            milliseconds = "" if row.failure else f"{row.seconds * 1000:.6g}"
            self.writer.writerow([
                row.graph, row.vertices, row.edges, row.task, row.library, self.versions[row.library], row.call, row.threads, row.runs,
                milliseconds, row.note, row.verdict,
            ])  # fmt: skip
        self.file.flush()


def header(kinds: list[type[Library]], threads: int, runs: int) -> str:
    """What the times depend on."""
    versions = ", ".join(f"{kind.package} {kind.version()}" for kind in kinds)
    lines = [
        "# vxm beside peers",
        "",
        f"- Date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- CPU: {_processor()}",
        f"- Threads: {threads}; one in columns marked ¹",
        f"- Versions: Python {platform.python_version()}, {versions}{_checkout()}",
        *_load(),
        f"- Times: milliseconds, the best of {runs} after one warm-up. A ratio above 1 means that vxm is faster.",
    ]
    return "\n".join(lines)


def tables(made: list[Measurement], works: list[Workload], kinds: list[type[Library]]) -> str:
    """A table for each task, and a list of what is wrong."""
    lines: list[str] = []
    for task, title in TASKS.items():
        rows = [row for row in made if row.task == task]
        if rows:
            lines += ["", f"## {title}", "", *_table(task, rows, works, kinds)]
    bad = [row for row in made if row.verdict != "right"]
    if bad:
        lines += ["", "## Wrong or failed", ""]
        lines += [f"- {row.graph}, {TASKS[row.task]}, {row.key}: {row.verdict}" for row in bad]
    return "\n".join(lines)


def _table(task: str, rows: list[Measurement], works: list[Workload], kinds: list[type[Library]]) -> list[str]:
    shown = [kind for kind in kinds if any(row.library == kind.name for row in rows)]
    single = {kind.name: all(row.threads == 1 for row in rows if row.library == kind.name) for kind in shown}
    names = [kind.name + (" ¹" if single[kind.name] else "") for kind in shown]
    answer = [] if task in SIZED else ["answer"]
    lines = [
        "| " + " | ".join(["graph", "vertices", "edges", *names, "best peer / vxm", *answer]) + " |",
        "|---|" + "---:|" * (len(names) + 3) + "---|" * len(answer),
    ]
    for work in works:
        of_graph = [row for row in rows if row.graph == work.name]
        best = {kind.name: _best([row for row in of_graph if row.library == kind.name]) for kind in shown}
        cells = [_cell(task, best[kind.name]) for kind in shown]
        notes = [_answer(of_graph)] if answer else []
        lines.append("| " + " | ".join([work.name, str(work.vertices), str(work.edges), *cells, _ratio(best), *notes]) + " |")
    return lines


def _best(rows: list[Measurement]) -> Optional[Measurement]:
    """The fastest right call of a library; a wrong one if there is one, so that it is seen."""
    wrong = [row for row in rows if row.wrong]
    right = [row for row in rows if row.verdict == "right"]
    return next(iter(wrong or sorted(right, key=lambda row: row.seconds) or rows), None)


def _cell(task: str, row: Optional[Measurement]) -> str:
    if row is None:
        return "–"
    if row.failure:
        return "failed"
    if row.wrong:
        return "**WRONG**"
    return _milliseconds(row.seconds) + (f" ({row.note})" if task in SIZED else "")


def _answer(rows: list[Measurement]) -> str:
    """The note of vxm's answer; of several that are only near the right one, the worst error."""
    right = [row for row in rows if row.verdict == "right"]
    if not right:
        return "–"
    what, near, _ = right[0].note.partition(" off by up to ")
    return what + (near + max((row.note.rsplit(" ", 1)[1] for row in right), key=float) if near else "")


def _ratio(best: dict[str, Optional[Measurement]]) -> str:
    ours = best.get("vxm")
    peers = [row for name, row in best.items() if name != "vxm" and row is not None and row.verdict == "right"]
    if ours is None or ours.verdict != "right" or not peers:
        return "–"
    first = min(peers, key=lambda row: row.seconds)
    return f"{_three(first.seconds / ours.seconds)} ({first.library})"


def _milliseconds(seconds: float) -> str:
    return _three(seconds * 1000)


def _three(number: float) -> str:
    """A number with three digits, or all digits before the point."""
    if number >= 100:
        return f"{number:.0f}"
    if number >= 10:
        return f"{number:.1f}"
    return f"{number:.2f}" if number >= 1 else f"{number:.3f}"


def _load() -> list[str]:
    """A line, if other programs keep cores busy. Libraries whose threads spin suffer most."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):
        return []
    return [f"- **The machine may be busy**: a load of {load:.1f} before the first run. If so, the times mean little."] if load > 1 else []


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith(("model name", "Model")):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    try:
        asked = subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=True)
        return asked.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return platform.processor() or platform.machine()


def _checkout() -> str:
    """The commit that the bench lies in, and whether files were changed since."""
    folder = Path(__file__).parent
    try:
        asked = [["git", "rev-parse", "--short", "HEAD"], ["git", "status", "--porcelain", "--untracked-files=no"]]
        commit, changed = (subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout.strip() for words in asked)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"; checkout {commit}" + (" with changes" if changed else "")
