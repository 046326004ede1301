"""Measure how long one waits: for the import, for the first page, for the first passages of a warm folder.

    python benchmarks/start_up.py               # 1,000 kept notes, 5 warm and 2 cold runs of each, alternating
    python benchmarks/start_up.py --quick       # 100 notes, 3 warm runs and one cold

All times are from the start of a new process. The first page is that of `streamlit run app.py`, in a Chromium that is
running already, beside a page of one line; a run is cold when the files of Python, its packages and the app were put
out of the system's file cache before it, as after a restart of the machine (on Linux, and but for files that other
programs use). Without Playwright and Chromium the pages are left out.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from common import ROOT, Table, alternate, make_files, make_questions, median, parser, report, scratch, write_folder

from autocontext import AutoContext
from autocontext.collections import Collections

IMPORT = "import time; t = time.perf_counter(); import autocontext; print(time.perf_counter() - t)"
SEARCH = (
    "import sys; from autocontext import AutoContext; "
    "print(AutoContext(store=sys.argv[1]).search(sys.argv[2])[0].chunk.document)"
)
BARE = "import streamlit as st\n\nst.write('Hello')\n"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
CHROMIUM_ARGS = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
PATIENCE = 120_000  # milliseconds
HAS_TEXT = "() => (document.querySelector('[data-testid=stMain]')?.innerText ?? '').trim() !== ''"
IS_DONE = "() => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'"


def evict() -> None:
    """Put the files of Python, its packages and the app out of the system's file cache, as far as it lets us."""
    if not hasattr(os, "posix_fadvise"):
        return
    for folder in {sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")} | {str(ROOT / "autocontext")}:
        for path in Path(folder).rglob("*"):
            if path.is_file():
                descriptor = os.open(path, os.O_RDONLY)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(descriptor)


def time_import() -> float:
    """Return what `import autocontext` takes in a new process, in it."""
    done = subprocess.run([sys.executable, "-c", IMPORT], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def time_process(*arguments: str) -> float:
    """Return how long a Python process runs that prints passages."""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    if "note_" not in done.stdout:
        raise RuntimeError(f"No passage was found: {done.stdout[:200]}")
    return seconds


@contextmanager
def serving(script: Path, data: Path) -> Iterator[tuple[str, float]]:
    """Start Streamlit on a script; lend the address, once something listens there, and when it was started."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}", "--server.headless=true"],
        cwd=script.parent,
        env=os.environ | {"AUTOCONTEXT_DATA": str(data), "NO_PROXY": "127.0.0.1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}", started
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def time_page(browser: Any, script: Path, data: Path) -> dict[str, float]:
    """Return the seconds until the first text is on the page, and until the page is complete."""
    with serving(script, data) as (url, started):
        page = browser.new_page()
        page.goto(url, wait_until="commit", timeout=PATIENCE)
        page.wait_for_function(HAS_TEXT, timeout=PATIENCE)
        text = time.perf_counter() - started
        page.wait_for_function(IS_DONE, timeout=PATIENCE)
        complete = time.perf_counter() - started
        page.close()
    return {"text": text, "complete": complete}


def time_passages(browser: Any, data: Path, collection: str, question: str) -> dict[str, float]:
    """Return the seconds from the start of the app until the passages for a question are on its page."""
    with serving(ROOT / "app.py", data) as (url, started):
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{url}/?collection={collection}", wait_until="commit")
        page.get_by_label("Question", exact=True).fill(question)
        page.get_by_role("button", name="Find passages", exact=True).click()
        page.locator(".st-key-passage_1").wait_for()
        seconds = time.perf_counter() - started
        page.close()
    return {"text": seconds, "complete": seconds}


@contextmanager
def chromium() -> Iterator[Any]:
    """Lend a running Chromium; None where there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        yield None
        return
    if not Path(CHROMIUM).is_file():
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS.split())
        yield browser
        browser.close()


def run_rounds(calls: dict[str, Callable[[], Any]], warm: int, cold: int) -> dict[str, dict[str, list[Any]]]:
    """Return the warm and the cold runs of each."""

    def evicted(call: Callable[[], Any]) -> Any:
        evict()
        return call()

    cold_runs = alternate({name: partial(evicted, call) for name, call in calls.items()}, cold)
    for call in calls.values():
        call()
    return {"warm": alternate(calls, warm), "cold": cold_runs}


def main() -> None:
    """Make a collection, run all in turn, print the tables."""
    options = parser(__doc__)
    options.add_argument("--notes", type=int, metavar="N", help="notes of one chunk (1,000; quick: 100)")
    args = options.parse_args()
    started = time.perf_counter()
    notes, warm, cold = args.notes or (100 if args.quick else 1000), args.rounds or (3 if args.quick else 5), 2
    with scratch() as place, chromium() as browser:
        folder, store, data = Path(place) / "files", Path(place) / "notes.db", Path(place) / "data"
        folder = write_folder(folder, make_files(notes, 6))
        ac = AutoContext(store=store)
        ac.add_folder(folder)
        (question, _), *_ = make_questions([chunk.text for chunk in ac.chunks], 1)
        collection = Collections(data).keep("Notes", ac)
        ac.close()
        bare = Path(place) / "bare" / "app.py"
        bare.parent.mkdir()
        bare.write_text(BARE, "utf-8")
        processes: dict[str, Callable[[], Any]] = {
            "import autocontext": time_import,
            "library: open, search": partial(time_process, "-c", SEARCH, str(store), question),
            "command line: sync, prompt": partial(
                time_process, "-m", "autocontext", "prompt", str(folder), question, "--store", str(store)
            ),
        }
        runs = run_rounds(processes, warm, 1 if args.quick else cold)
        pages = {}
        if browser is not None:
            calls: dict[str, Callable[[], Any]] = {
                "a bare Streamlit page": partial(time_page, browser, bare, data),
                "first page": partial(time_page, browser, ROOT / "app.py", data),
                "app: open, ask, passages": partial(time_passages, browser, data, collection, question),
            }
            pages = run_rounds(calls, warm, 1 if args.quick else cold)
    report(args, started, _tables(notes, warm, runs, pages), {"notes": notes, "processes": runs, "pages": pages})


def _tables(notes: int, warm: int, runs: dict[str, Any], pages: dict[str, Any]) -> list[Table]:
    rows = [[name, median(runs["warm"][name]), median(runs["cold"][name])] for name in runs["warm"]]
    tables = [Table(f"From process start, {notes:,} kept notes, medians of {warm}", ["s", "warm", "cold"], rows)]
    if pages:
        shown: list[list[str | float]] = []
        bare = {(state, what): 0.0 for state in pages for what in ("text", "complete")}
        for name in pages["warm"]:
            row: list[str | float] = [name]
            for key in bare:
                seconds = median([run[key[1]] for run in pages[key[0]][name]])
                bare[key] = bare[key] or seconds  # the bare page is the first one
                row += [seconds, seconds / bare[key]]
            shown.append(row)
        columns = ["s"]
        for state, what in bare:
            columns += [f"{what}, {state}", "ratio"]
        tables.append(Table("From process start to the page, in Chromium", columns, shown))
    return tables


if __name__ == "__main__":
    main()
