"""Charts as SVG, plain enough to be read in any page and either theme."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

COLOURS = ("#3b6ea8", "#d1742f", "#4d9151", "#8d5fa8", "#a8983b", "#777777")
WIDTH, BAR, GAP, LABELS, RIGHT = 720, 16, 14, 210, 90
TEXT = 'font-family="system-ui, sans-serif" font-size="12" fill="#808080"'


def bars(title: str, unit: str, groups: Mapping[str, Mapping[str, float]], logarithmic: bool = True) -> str:
    """Horizontal bars: for each group, a bar for each of its series."""
    series = list(dict.fromkeys(name for group in groups.values() for name in group))
    share = _scale([value for group in groups.values() for value in group.values()], logarithmic)
    parts, y = [_text(0, 16, title + (", logarithmic" if logarithmic else ""), weight="bold"), *_legend(series, 34)], 50
    for label, group in groups.items():
        parts.append(_text(LABELS - 8, y + len(group) * BAR / 2 + 4, label, anchor="end"))
        for name, value in group.items():
            width = max(1.0, (WIDTH - LABELS - RIGHT) * share(value))
            colour = COLOURS[series.index(name) % len(COLOURS)]
            parts.append(f'<rect x="{LABELS}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{colour}"/>')
            parts.append(_text(LABELS + width + 5, y + 11, f"{value:,g} {unit}"))
            y += BAR
        y += GAP
    return _svg(y, parts)


def _scale(values: Sequence[float], logarithmic: bool) -> Callable[[float], float]:
    """How long the bar of a value is, as a share of the longest."""
    high = max(values)
    if not logarithmic:
        return lambda value: value / (high or 1)
    low = 10 ** math.floor(math.log10(min(value for value in values if value > 0)))
    span = math.log10(high / low) or 1
    return lambda value: math.log10(value / low) / span if value > 0 else 0.0


def lines(title: str, unit: str, across: str, series: Mapping[str, Mapping[float, float]]) -> str:
    """Lines over points that double or multiply, evenly spaced."""
    points = sorted({x for line in series.values() for x in line})
    high = max(value for line in series.values() for value in line.values()) * 1.08
    left, top, width, height = 60, 50, WIDTH - 80, 240
    place = {x: left + width * number / max(1, len(points) - 1) for number, x in enumerate(points)}
    parts = [_text(0, 16, f"{title} ({unit})", weight="bold"), *_legend(list(series), 34)]
    for step in range(5):
        value, y = high * step / 4, top + height * (1 - step / 4)
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}" stroke="#808080" stroke-opacity="0.3"/>')
        parts.append(_text(left - 6, y + 4, f"{value:,.0f}", anchor="end"))
    parts += [_text(place[x], top + height + 18, f"{x:g}", anchor="middle") for x in points]
    parts.append(_text(left + width / 2, top + height + 36, across, anchor="middle"))
    for number, line in enumerate(series.values()):
        path = " ".join(f"{place[x]:.1f},{top + height * (1 - value / high):.1f}" for x, value in sorted(line.items()))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[number % len(COLOURS)]}" stroke-width="2"/>')
    return _svg(top + height + 46, parts)


def _legend(series: Sequence[str], y: float) -> list[str]:
    if len(series) < 2:
        return []
    parts, x = [], 0.0
    for number, name in enumerate(series):
        parts.append(f'<rect x="{x:.0f}" y="{y - 9}" width="10" height="10" fill="{COLOURS[number % len(COLOURS)]}"/>')
        parts.append(_text(x + 14, y, name))
        x += 30 + 7 * len(name)
    return parts


def _text(x: float, y: float, text: str, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" {TEXT}>{escape(text)}</text>'


def _svg(height: float, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img">\n{body}\n</svg>\n'
