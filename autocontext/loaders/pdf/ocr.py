"""Text recognized from the picture of a page, for scans; optional (``pip install rapidocr onnxruntime``)."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

_LONG_SIDE = 1_600  # pixels: about 140 a printed inch; more takes more memory and finds hardly more
EXTRA_MEMORY = 1_500_000_000
"""What the runtime reserves beside the limit, of which it uses less than a half."""

_SURE_ENOUGH = 0.6


def is_installed() -> bool:
    """Tell whether the packages are there, without importing them."""
    return all(importlib.util.find_spec(name) is not None for name in ("rapidocr", "onnxruntime"))


def read_pages(document: Any, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield a message for each of these pages on which text was recognized; runs in the child process."""
    if not numbers:
        return
    if not is_installed():
        yield {"ocr": "it is not installed: pip install rapidocr onnxruntime"}
        return
    from rapidocr import RapidOCR

    engine = RapidOCR(params={"EngineConfig.onnxruntime.intra_op_num_threads": 2, "Global.log_level": "critical"})
    for number in numbers:
        page = document[number]
        picture = page.render(scale=_LONG_SIDE / max(1.0, *page.get_size())).to_numpy()
        page.close()
        try:
            found = engine(picture)
        except Exception as error:  # noqa: BLE001 mostly memory; the page stays without text
            yield {"ocr": f"it failed on a page ({type(error).__name__})"}
            continue
        lines = zip(found.txts, found.scores, strict=True) if found.txts else ()
        text = "\n".join(line for line, score in lines if score >= _SURE_ENOUGH)
        if text:
            yield {"page": number, "text": text, "fault": 0.0, "beside": [], "by": "ocr", "outside": 0}
