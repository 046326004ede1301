"""The pictures of the Inspect page, as Vega-Lite: plain data in, drawn by the browser, nothing fetched.

Texts of documents are values of the data only, which Vega-Lite draws and its tooltips show as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autocontext.explanation import LABELS, NOT_RETURNED, Opinion, Row
from autocontext.statistics import Bin

COLORS = {"bm25": "#8b5cf6", "dense": "#3b82f6", "tfidf": "#22a06b"}
_OTHER = "#8a8f98"
_INSIDE, _LEFT_OUT = "in the prompt", "left out"
_MOST_BARS = 12
_HEIGHT = 380
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_GRAY = {"color": "#808080", "opacity": 0.13}


def ranks(rows: Sequence[Row], one: str, other: str) -> dict[str, Any]:
    """Return rank against rank, best at the top left; what one did not return stands in a band at the edge, apart."""
    said = [{opinion.retriever: opinion for opinion in row.opinions} for row in rows]
    last = max((of[name].rank or 1 for of in said for name in (one, other)), default=1)
    edge = max(last * 1.9, 3)
    values = [
        {
            "x": of[one].rank or edge,
            "y": of[other].rank or edge,
            "where": _INSIDE if row.number is not None else _LEFT_OUT,
            "number": str(row.number or ""),
            "File": row.chunk.document,
            "Place": row.chunk.place,
            LABELS.get(one, one): _rank(of[one]),
            LABELS.get(other, other): _rank(of[other]),
        }
        for row, of in zip(rows, said, strict=True)
        if of[one].rank is not None or of[other].rank is not None
    ]
    start, end, band = 0.75, edge * 1.35, edge / 1.35
    ticks = [tick for tick in _TICKS if tick <= last]
    spread = max(1, len(ticks) // 5)

    def axis(name: str) -> dict[str, Any]:
        return {
            "title": f"{LABELS.get(name, name)} rank",
            "values": [*ticks[::spread], edge],
            "labelExpr": f"datum.value > {last} ? {NOT_RETURNED.split()} : format(datum.value, ',')",
            "labelFlush": False,
            "grid": False,
        }

    scale = {"type": "log", "domain": [start, end], "nice": False}
    x = {"field": "x", "type": "quantitative", "scale": scale, "axis": axis(one)}
    y = {
        "field": "y",
        "type": "quantitative",
        "scale": {**scale, "reverse": True},
        "axis": axis(other),
    }
    tooltip = [
        {"field": field, "type": "nominal"} for field in ("File", "Place", *(LABELS.get(n, n) for n in (one, other)))
    ]
    color = {
        "field": "where",
        "type": "nominal",
        "scale": {"domain": [_INSIDE, _LEFT_OUT], "range": ["#e8590c", _OTHER]},
        "legend": {"orient": "top", "title": None},
    }

    def fixed(low: str, high: str, first: float, second: float) -> dict[str, Any]:
        return {low: {"datum": first, "type": "quantitative"}, high: {"datum": second}}

    whole_x, whole_y = fixed("x", "x2", start, end), fixed("y", "y2", start, end)
    return {
        "height": _HEIGHT,
        "data": {"values": values},
        "layer": [
            _drawn({"type": "rect", **_GRAY}, {**fixed("x", "x2", band, end), **whole_y}),
            _drawn({"type": "rect", **_GRAY}, {**whole_x, **fixed("y", "y2", band, end)}),
            _drawn(
                {"type": "rule", "color": "#808080", "strokeDash": [4, 4], "opacity": 0.5},
                {**fixed("x", "x2", start, band), **fixed("y", "y2", start, band)},
            ),
            {
                "mark": {"type": "circle", "opacity": 0.8},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": color,
                    "size": {
                        "field": "where",
                        "type": "nominal",
                        "scale": {"domain": [_INSIDE, _LEFT_OUT], "range": [150, 45]},
                        "legend": None,
                    },
                    "tooltip": tooltip,
                },
            },
            {
                "transform": [{"filter": "datum.number != ''"}],
                "mark": {"type": "text", "color": "white", "fontSize": 10, "fontWeight": "bold", "tooltip": None},
                "encoding": {"x": x, "y": y, "text": {"field": "number", "type": "nominal"}},
            },
        ],
    }  # fmt: skip


def _drawn(mark: dict[str, Any], encoding: dict[str, Any]) -> dict[str, Any]:
    """Return a layer that is drawn once, whatever the data."""
    return {"data": {"values": [{}]}, "mark": mark, "encoding": encoding}


def _rank(opinion: Opinion) -> str:
    return f"#{opinion.rank:,}" if opinion.rank is not None else NOT_RETURNED


def contributions(rows: Sequence[Row], names: Sequence[str]) -> dict[str, Any]:
    """Return the fused score of the best passages, stacked by what each retriever gave."""
    shown = rows[:_MOST_BARS]
    labels = [LABELS.get(name, name) for name in names]
    values = [
        {
            "passage": _label(row),
            "Retriever": LABELS.get(said.retriever, said.retriever),
            "order": names.index(said.retriever),
            "Contribution": said.contribution or 0.0,
            "Rank": _rank(said),
            "File": row.chunk.document,
            "Place": row.chunk.place,
        }
        for row in shown
        for said in row.opinions
    ]
    return {
        "height": _HEIGHT,
        "data": {"values": values},
        "mark": {"type": "bar", "cornerRadius": 2},
        "encoding": {
            "y": {
                "field": "passage",
                "type": "nominal",
                "sort": [_label(row) for row in shown],
                "title": None,
                "axis": {"labelLimit": 150, "labelOverlap": False, "labelFlush": False},
            },
            "x": {"field": "Contribution", "type": "quantitative", "title": "Score", "stack": "zero"},
            "color": {
                "field": "Retriever",
                "type": "nominal",
                "scale": {"domain": labels, "range": [COLORS.get(name, _OTHER) for name in names]},
                "legend": {"orient": "top", "title": None},
            },
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [
                {"field": field, "type": "nominal"} for field in ("File", "Place", "Retriever", "Rank")
            ] + [{"field": "Contribution", "type": "quantitative", "format": ".4f"}],
        },
    }  # fmt: skip


def _label(row: Row) -> str:
    name = row.chunk.document.rpartition("/")[2]
    return f"{row.place}. {f'[{row.number}] ' if row.number is not None else ''}{name}"


def lengths(histogram: Sequence[Bin]) -> dict[str, Any]:
    """Return how many chunks there are of each length."""
    values = [{"Tokens": f"{of.first}–{of.last}", "Passages": of.chunks} for of in histogram]
    return {
        "height": 220,
        "data": {"values": values},
        "mark": {"type": "bar", "cornerRadiusTopLeft": 2, "cornerRadiusTopRight": 2, "color": COLORS["dense"]},
        "encoding": {
            "x": {"field": "Tokens", "type": "nominal", "sort": None, "title": "Tokens", "axis": {"labelAngle": 0}},
            "y": {"field": "Passages", "type": "quantitative", "title": None},
            "tooltip": [{"field": "Tokens", "type": "nominal"}, {"field": "Passages", "type": "quantitative"}],
        },
    }
