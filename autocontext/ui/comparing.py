"""What the Compare page keeps between reruns: the choice, the comparison, and the indexes that were made for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from autocontext.comparison import Choice, Comparison, Variants
from autocontext.datatypes import Chunk
from autocontext.engine import AutoContext
from autocontext.settings import Settings, settings_to_json
from autocontext.settings_change import Cost, cost_of_change
from autocontext.ui.jobs import CompareJob

_SETTLE_SECONDS = 1.0  # a comparison that takes no longer is there when the page is drawn


@dataclass
class Comparing:
    """A session's comparison.

    Attributes
    ----------
    what
        Which kind of settings is compared.
    meaning
        Where the slider between words and meaning stands, in hundredths; None: where the settings are.
    model
        The embedding model that was typed.
    download
        Whether it may be fetched from the hub.
    """

    what: str = "bm25"
    meaning: int | None = None
    model: str = ""
    download: bool = False
    kept: Variants = field(default_factory=Variants)
    job: CompareJob | None = None
    _asked: tuple[Any, ...] = ()
    _costs: dict[tuple[str, str], Cost] = field(default_factory=dict)
    _costs_of: tuple[Chunk, ...] = ()

    def cost(self, engine: AutoContext, settings: Settings) -> Cost:
        """Return what it costs to try other settings; reckoned once for a state of the collection."""
        if self._costs_of is not engine.chunks:
            self._costs, self._costs_of = {}, engine.chunks
        key = (settings_to_json(engine.settings), settings_to_json(settings))
        if key not in self._costs:
            self._costs[key] = cost_of_change(engine.settings, settings, engine)
        return self._costs[key]

    def is_asked(self, engine: AutoContext, question: str, choices: Sequence[Choice], limits: tuple[int, int]) -> bool:
        """Tell whether this very comparison has been begun."""
        asked = (engine, engine.chunks, question, tuple(choices), limits)
        return len(self._asked) == len(asked) and all(
            one is other if n < 2 else one == other
            for n, (one, other) in enumerate(zip(asked, self._asked, strict=True))
        )

    def ask(
        self,
        engine: AutoContext,
        question: str,
        choices: Sequence[Choice],
        limits: tuple[int, int],
        is_abandoned: Callable[[], bool],
    ) -> None:
        """Begin a comparison in place of the last one."""
        self.stop()
        self._asked = (engine, engine.chunks, question, tuple(choices), limits)
        self.job = CompareJob(
            engine,
            question,
            choices,
            self.kept,
            num_results=limits[0],
            max_tokens=limits[1],
            is_abandoned=is_abandoned,
        )
        self.job.wait(_SETTLE_SECONDS)

    @property
    def result(self) -> Comparison | None:
        """What came out of it, once it has ended."""
        return self.job.result if self.job is not None else None

    def forget_result(self) -> None:
        """Let the same comparison be begun anew."""
        self._asked = ()

    def stop(self) -> None:
        """Stop the comparison that goes on; indexes that were made stay for the next one."""
        if self.job is not None:
            self.job.stop()

    def forget(self) -> None:
        """Let go of everything that holds texts: other documents are open now, or some have left."""
        self.stop()
        self.kept, self.job, self._asked, self._costs_of = Variants(), None, (), ()
