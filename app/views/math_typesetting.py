"""LaTeX -> a drawing, by ziamath.

Runs in the typesetting process: importing ziamath takes a second, some formulas take more. What it
does not know (a macro of a package, letters that its font lacks) is refused, so that the reader sees the
source and not half of a formula. Knows nothing about Qt.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from app.views.markdown_typesetting import FormulaDrawing, FormulaTask

_FOREIGN = re.compile("[\u0590-\u1fff\u2e80-\ud7ff\uf900-\ufdff\ufe70-\ufeff\U0001f000-\U0003ffff]")
_UNKNOWN = re.compile(r"\\[A-Za-z]")
_TAG = re.compile(r"\\tag\*?\{([^{}]*)\}")
_IGNORED = re.compile(r"\\(?:label\{[^{}]*\}|nonumber|notag|displaystyle(?![A-Za-z]))")
_SINGLE = re.compile(r"\\(?:begin|end)\{equation\*?\}")
_ALIGNED = re.compile(r"\\(begin|end)\{(?:align|alignat|gather|gathered|multline|eqnarray|split)\*?\}")
_MARGIN = 1.0
_MAX_PIXELS = 10_000
_SHAPES = frozenset({"svg", "g", "path", "rect", "line", "circle", "ellipse", "polyline", "polygon"})


def set_formula(task: FormulaTask) -> FormulaDrawing | None:
    """The drawing of `task`; None if ziamath cannot set it, in whatever way it says so."""
    if _FOREIGN.search(task.latex):
        return None
    from ziamath.config import config
    from ziamath.zmath import Latex

    config.svg2 = False  # Qt draws SVG 1.2 Tiny: no symbols
    try:
        formula = Latex(
            _prepared(task.latex), size=task.size, color=task.colour, inline=not task.display, margin=_MARGIN
        )
        svg = formula.svgxml()
        bounds = formula.node.bbox
    except Exception:  # ziamath and the libraries below it raise all kinds
        return None
    if _UNKNOWN.search("".join(formula.mathml.itertext())):
        return None
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    drawn = any(element.tag not in {"svg", "g"} for element in svg.iter())
    if not drawn or max(width, height) > _MAX_PIXELS or not _is_harmless(svg):
        return None
    ascent = bounds.ymax + _MARGIN
    return FormulaDrawing(ElementTree.tostring(svg, encoding="unicode"), width, ascent, height - ascent)


def _prepared(latex: str) -> str:
    """Spell what latex2mathml does not know in words that it does."""
    latex = _IGNORED.sub("", _TAG.sub(r"\\qquad\\text{(\1)}", latex))
    return _ALIGNED.sub(r"\\\1{align*}", _SINGLE.sub("", latex))


def _is_harmless(svg: ElementTree.Element) -> bool:
    """Only shapes, nothing that refers to anything."""
    return all(
        element.tag.rpartition("}")[2] in _SHAPES and not any("href" in name for name in element.attrib)
        for element in svg.iter()
    )
