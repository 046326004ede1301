"""What can go wrong, as errors whose text is a sentence for the user with a cure.

::

    AutoContextError
    ├── LoadError          one file cannot be read; the batch goes on
    │   ├── KindError      no file of its kind can
    │   └── LoadStoppedError   the user stopped it
    ├── EncoderError       no embedding model; keyword search goes on
    ├── BudgetError        the question and the rules alone are over the budget
    ├── SettingsError      a setting has a value that cannot work
    ├── StoreError         the collection file cannot be opened or is of another kind
    ├── QuestionError      a question of one's own, or its answer, cannot be used
    └── ModelError         the language model gave no (whole) answer
"""

from __future__ import annotations


class AutoContextError(Exception):
    """Base of all errors raised on purpose; ``str(error)`` may be shown to the user as it is."""


class LoadError(AutoContextError):
    """One file cannot be read.

    Attributes
    ----------
    name
        The document's name.
    reason
        A sentence without the name, with a cure where there is one.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


class LoadStoppedError(LoadError):
    """Reading one file was stopped by the user."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "stopped before it was read")


class KindError(LoadError):
    """Files of this kind are not read: a picture, a film, a program."""


class EncoderError(AutoContextError):
    """The embedding model cannot be found or is not the one it claims to be."""


class BudgetError(AutoContextError):
    """The question and the rules alone need more tokens than the prompt may have.

    Attributes
    ----------
    needed, max_tokens
        Tokens that the prompt needs without any passage, and the budget.
    """

    def __init__(self, needed: int, max_tokens: int) -> None:
        super().__init__(
            f"The question and the instructions alone take about {needed} tokens, but the prompt may have "
            f"{max_tokens}. Shorten the question or raise the token budget to {needed} or more."
        )
        self.needed = needed
        self.max_tokens = max_tokens


class SettingsError(AutoContextError, ValueError):
    """A setting has a value that cannot work."""


class StoreError(AutoContextError):
    """A collection file cannot be opened, or is not one of ours."""


class QuestionError(AutoContextError):
    """A question to measure with cannot be used: its line, or where its answer stands."""


class ModelError(AutoContextError):
    """The language model gave no (whole) answer; never holds a traceback or a key.

    Attributes
    ----------
    kind
        A short word for the case, for example ``"wrong_key"``, ``"unreachable"``, ``"timeout"``, ``"cut"``.
    detail
        One cleaned line of what the provider said, for a log or an expander; may be empty.
    """

    def __init__(self, kind: str, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.detail = detail
