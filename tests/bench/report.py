"""docs/benchmarks.md and its charts, made from docs/benchmarks.json and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.bench.charts import bars, lines
from tests.bench.targets import TARGETS, ahead_of_peers

CHARTS = "charts"
Found = Mapping[str, Any]

INTRODUCTION = """# Benchmarks

Made by `make bench`; do not edit. `make bench PARTS="episodes graph"` runs some parts again and keeps the others' figures.
Latencies are of one client on one connection that has the service to itself, unless a heading says otherwise, and are
given as p50 / p95 / p99 in milliseconds.
"""


def results(known: Found) -> dict[str, Any]:
    """What the parts measured, by part."""
    return {name: part["result"] for name, part in known["parts"].items() if "result" in part}


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table whose first column is text and whose others are figures."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def spread(quantiles: Mapping[str, float]) -> str:
    """p50 / p95 / p99."""
    return " / ".join(f"{quantiles[name]:.1f}" if quantiles[name] < 100 else f"{quantiles[name]:.0f}" for name in quantiles)


def _working(found: Found) -> str:
    rows = [(name, spread(each["http_ms"]), spread(each["handler_ms"])) for name, each in found["latency"].items()]
    text = table(["call", "over HTTP", "inside the handler"], rows)
    first = found["first_answer"]
    return f"{text}\nProcess start to the first answer of /health: {first['health_ms']} ms; to a first sign-up and tools/list: "\
        f"{first['sign_up_and_tools_list_ms']} ms.\n"  # fmt: skip


def _episodes(found: Found) -> str:
    names = {
        "store": "store",
        "search_hybrid": "search",
        "search_lexical": "search by words alone",
        "search_after_a_store": "search after each store",
    }
    rows = [
        (f"{int(size):,}", label, spread(each["warm"][name]["http_ms"]), spread(each["warm"][name]["handler_ms"]))
        for size, each in found.items()
        for name, label in names.items()
    ]
    warm = table(["episodes", "call, warm", "over HTTP", "inside the handler"], rows)
    rows = [
        (
            f"{int(size):,}",
            each["cold"]["search_ms"],
            each["cold"]["store_ms"],
            each["first_search_ever_ms"],
            each["memory"]["mb_per_10000_episodes"],
            each["memory"]["view_bytes_per_episode"],
            each["stored_bytes_per_episode"],
        )
        for size, each in found.items()
    ]
    heads = ["episodes", "first search of a fresh process, ms", "first store, ms"]
    heads += [
        "first search after a bulk import, ms",
        "process grew by MB per 10,000",
        "bytes of the view an episode",
        "bytes on disk an episode",
    ]
    note = (
        "The process grows by more than the view: by what loading it needed for a moment and the allocator keeps, and, at small "
        "sizes mostly, by libraries and buffers.\n"
    )
    return f"{warm}\n{table(heads, rows)}\n{note}"


def _throughput(found: Found) -> str:
    rows = [(clients, *each.values()) for clients, each in found.items() if clients != "size"]
    heads = ["clients", *(name.replace("_", " ") + " / s" for name in next(iter([e for c, e in found.items() if c != "size"])))]
    return f"On one agent's {found['size']:,} episodes.\n\n{table(heads, rows)}"


def _firestore(found: Found) -> str:
    rows = [(name, each["rpcs"], each["reads"], each["writes"]) for name, each in found.items() if name != "size"]
    heads = ["call", "round trips in sequence", "documents read", "documents written"]
    return f"One agent with {found['size']:,} episodes, on the emulator.\n\n{table(heads, rows)}"


def _packages(found: Found) -> str:
    rows = []
    for name, each in found.items():
        starts = "; ".join(f"{what}: {start['ms']} ms" for what, start in each.get("cold_start", {}).items())
        rows.append((name, each["zip_kb"], f"{each['installed_mb']:.0f}", starts or "not a route"))
    return table(["function", "zip, kB", "installed, MB", "from process start"], rows)


def _graph(found: Found) -> str:
    parts = []
    for size, each in found.items():
        peers = each["networkx"]
        rows = [
            (name.replace("_", " "), f"{each['cold'][name]['ms']:.0f}", each["cold"][name]["reads"], spread(quantiles),
             spread(peers[name]) if name in peers else "")
            for name, quantiles in each["warm"].items()
        ]  # fmt: skip
        heads = ["call", "cold, ms", "documents read cold", "warm", "networkx"]
        parts.append(f"{size}. networkx takes {peers['build_ms']:.0f} ms to build its graph.\n\n{table(heads, rows)}")
    return "\n".join(parts)


def _rest(found: Found) -> str:
    rows = [
        ("messages a second, batches of 10", found["messages_per_s"]),
        ("batch of 10, ms", spread(found["add_batch_of_10_ms"])),
        ("search, ms", spread(found["search_ms"])),
        *((f"recall{at}, %", value) for at, value in found["recall_percent"].items()),
        *((f"{name.replace('_', ' ')}, 8 clients", value) for name, value in found["parallel"].items()),
    ]
    return table(["LoCoMo through /api/v2", "figure"], rows)


def _recall(found: Found) -> str:
    parts = []
    for title, methods in found.items():
        heads = ["", *next(iter(methods.values()))]
        rows = [(name, *(f"{value:.1f}" for value in figures.values())) for name, figures in methods.items()]
        parts.append(f"{title}\n\n{table(heads, rows)}")
    return "\n".join(parts)


def _peers(found: Found) -> str:
    rows = []
    for name, each in found.items():
        speed, recall = each.get("speed") or {}, each.get("recall@12") or {}
        problem = each.get("error") or speed.get("error")
        rows.append((
            name,
            each["about"],
            problem or f"{speed['size']:,}",
            "" if problem else spread(speed["write_ms"]),
            "" if problem else spread(speed["search_ms"]),
            spread(speed["encoder_ms"]) if "encoder_ms" in speed else "",
            recall.get("error") or (f"{recall['percent']} ({recall['questions']} questions)" if recall else ""),
        ))  # fmt: skip
    heads = ["memory", "how it is used", "texts stored", "write, ms", "search, ms", "of it the encoder, ms", "LoCoMo R@12, %"]
    note = (
        "The encoder of the peers is MiniLM-L6-v2 as int8 ONNX on one thread, once for each write and each search; am-server "
        "with the same model encodes when somebody searches.\n"
        "All get the same bare texts. am-server is measured from outside, over HTTP; the others in process, or over the pipe "
        "of an MCP server. With sessions and speakers as metadata, am-server's recall is that of the parts above.\n"
    )
    return f"{table(heads, rows)}\n{note}"


SECTIONS: Mapping[str, tuple[str, Callable[[Found], str]]] = {
    "working": ("Working memory over HTTP", _working),
    "episodes": ("Episodes over HTTP, by the size of the memory", _episodes),
    "throughput": ("Throughput", _throughput),
    "firestore": ("Round trips on Firestore", _firestore),
    "packages": ("Packages and cold starts of the deployed functions", _packages),
    "graph": ("Graph search, beside networkx", _graph),
    "rest": ("The memories API", _rest),
    "recall": ("Recall on LoCoMo, beside other methods", _recall),
    "recall-http": ("Recall on LoCoMo, over HTTP", _recall),
    "peers": ("Beside other memories", _peers),
}


def report(known: Found, drawn: Sequence[str]) -> str:
    """The page."""
    machine = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in known["machine"].items())
    parts = [INTRODUCTION, f"Machine: {machine}.\n", "## Targets\n", _targets(results(known))]
    for name, (title, show) in SECTIONS.items():
        part = known["parts"].get(name)
        if part is None:
            continue
        parts += [f"## {title}\n", f"`{part['command']}`, {part['date']}.\n"]
        if "error" in part:
            parts.append(f"This part {part['error']}\n" if "result" in part else f"Not measured. It {part['error']}\n")
        if "result" in part:
            parts.append(_shown(show, part["result"]))
        parts += [f"![{chart}]({CHARTS}/{chart}.svg)\n" for chart in drawn if chart.partition(".")[0] == name]
    return "\n".join(parts)


def _shown(show: Callable[[Found], str], found: Found) -> str:
    try:
        return show(found)
    except (KeyError, TypeError, ValueError, StopIteration) as problem:  # a part that was cut off left half of its figures
        return f"Its figures are not complete ({type(problem).__name__}: {problem}); docs/benchmarks.json has those there are.\n"


def _targets(found: Found) -> str:
    rows: list[Sequence[Any]] = []
    for target in TARGETS:
        value = target.measured(found)
        if value is None:
            rows.append((target.what, target.limit, "", "not measured"))
        else:
            gap = target.gap(value)
            verdict = f"**missed by {gap:.3g}** {target.note}".strip() if gap else "met"
            rows.append((target.what, target.limit, f"{value:g} {target.unit}", verdict))
    compared = [(what, theirs, mine, "ahead" if ahead else "**behind**") for what, mine, theirs, ahead in ahead_of_peers(found)]
    text = table(["figure", "target", "measured", ""], rows)
    return text + ("\n" + table(["beside", "theirs", "ours", ""], compared) if compared else "")


def charts(known: Found) -> dict[str, str]:
    """Charts by name, which begins with the part that they show; only those whose figures are there."""
    found, drawn = results(known), {}
    for name, draw in _CHARTS.items():
        try:
            drawn[name] = draw(found[name.partition(".")[0]])
        except (KeyError, TypeError, ValueError, StopIteration):
            continue
    return drawn


def _latency_chart(found: Found) -> str:
    warm = {f"{int(size):,} episodes": each for size, each in found.items()}
    groups = {
        label: {
            "store": each["warm"]["store"]["http_ms"]["p50"],
            "search": each["warm"]["search_hybrid"]["http_ms"]["p50"],
            "first search of a fresh process": each["cold"]["search_ms"],
        }
        for label, each in warm.items()
    }
    return bars("Latency over HTTP, p50", "ms", groups)


def _throughput_chart(found: Found) -> str:
    points = {int(clients): each for clients, each in found.items() if clients != "size"}
    names = list(next(iter(points.values())))
    return lines("Throughput", "calls a second", "clients", {
        name.replace("_", " "): {clients: each[name] for clients, each in points.items()} for name in names
    })  # fmt: skip


def _peers_speed_chart(found: Found) -> str:
    measured = {name: each["speed"] for name, each in found.items() if "write_ms" in (each.get("speed") or {})}
    groups = {
        f"{name} ({speed['size']:,})": {"write": speed["write_ms"]["p50"], "search": speed["search_ms"]["p50"]}
        for name, speed in measured.items()
    }
    return bars("Write and search, p50", "ms", groups)


def _peers_recall_chart(found: Found) -> str:
    measured = {name: each["recall@12"]["percent"] for name, each in found.items() if "percent" in (each.get("recall@12") or {})}
    return bars("LoCoMo R@12 on bare texts", "%", {name: {"R@12": value} for name, value in measured.items()}, False)


_CHARTS: Mapping[str, Callable[[Found], str]] = {
    "episodes.latency": _latency_chart,
    "throughput.clients": _throughput_chart,
    "peers.speed": _peers_speed_chart,
    "peers.recall": _peers_recall_chart,
}
