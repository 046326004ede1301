"""Settings that were changed on the Settings page and are not saved yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError, SettingsError
from autocontext.settings import Settings
from autocontext.settings_change import Cost, cost_of_change
from autocontext.settings_explained import setting_of, setting_paths, with_values


@dataclass
class Draft:
    """The changes, by the settings' names, the latest last.

    Attributes
    ----------
    version
        How often all widgets had to begin anew: a new number is a new widget.
    problem
        Why a file could not be taken over; or "".
    """

    values: dict[str, Any] = field(default_factory=dict)
    version: int = 0
    problem: str = ""
    _cost: tuple[tuple[Any, ...], Cost] | None = None
    _saved: Settings | None = None

    def follow(self, saved: Settings) -> None:
        """Let the widgets begin anew where other settings are saved now: by Undo, another page, another session."""
        if saved != self._saved:
            self._saved = saved
            self.values = {path: value for path, value in self.values.items() if value != setting_of(saved, path)}
            self.version += 1

    def change(self, path: str, value: Any, saved: Settings) -> None:
        """Take a value over; one that is saved already is no change."""
        self.values.pop(path, None)
        if value != setting_of(saved, path):
            self.values[path] = value

    def replace_with(self, settings: Settings, saved: Settings) -> None:
        """Begin anew, with the changes that lead from the saved settings to others."""
        self.clear()
        for path in setting_paths():
            self.change(path, setting_of(settings, path), saved)

    def clear(self) -> None:
        """Forget all changes."""
        self.values, self.problem, self._cost = {}, "", None
        self.version += 1

    def value(self, path: str, saved: Settings) -> Any:
        """Return a setting as it would be."""
        return self.values[path] if path in self.values else setting_of(saved, path)

    def check(self, engine: AutoContext) -> tuple[Settings | None, dict[str, str]]:
        """Return the settings as they would be, or else what cannot be: a sentence by the setting's name."""
        try:
            settings = with_values(engine.settings, self.values)
            self.cost(settings, engine)
        except AutoContextError as error:
            return None, {self._blamed(engine.settings, str(error)): str(error)}
        return settings, {}

    def cost(self, settings: Settings, engine: AutoContext) -> Cost:
        """Return what the change will cost."""
        asked = (settings, engine.settings, engine.chunks)
        if self._cost is None or self._cost[0][:2] != asked[:2] or self._cost[0][2] is not asked[2]:
            self._cost = (asked, cost_of_change(engine.settings, settings, engine))
        return self._cost[1]

    def forget(self) -> None:
        """Let go of everything that holds texts; the changes stay."""
        self._cost = None

    def _blamed(self, saved: Settings, told: str) -> str:
        """Return the latest change without which the complaint would not come."""
        for path in reversed(self.values):
            others = {name: value for name, value in self.values.items() if name != path}
            try:
                with_values(saved, others)
            except SettingsError as error:
                if str(error) == told:
                    continue
            return path
        return next(reversed(self.values), "")
