"""Everything spanfluence raises on purpose.

    SpanfluenceError          the command line prints its one line and exits with code 2
    ├── InputError            a file, a row, a span or a setting that cannot be used (also a ValueError)
    ├── ModelError            a model folder or its weights cannot be used
    ├── NumericsError         a computation left the range where its result means something
    └── MissingExtra          an optional dependency is not installed (also an ImportError)

Every message is one line: what was wrong, the value seen, and what to do.
"""

from __future__ import annotations


class SpanfluenceError(Exception):
    """Base of all errors a user can mend."""


class InputError(SpanfluenceError, ValueError):
    """A file, a row, a span or a setting that cannot be used."""


class ModelError(SpanfluenceError):
    """A model folder or its weights cannot be used."""


class NumericsError(SpanfluenceError, ArithmeticError):
    """A computation left the range where its result means something."""


class MissingExtra(SpanfluenceError, ImportError):
    """An optional dependency is missing; the message names the extra that brings it.

    `then` is what is to be run after the extra is installed.
    """

    def __init__(self, package: str, extra: str, purpose: str, then: str = "") -> None:
        steps = f"pip install 'spanfluence[{extra}]'" + (f", then: {then}" if then else "")
        super().__init__(f"{purpose} needs the package '{package}': {steps}")
