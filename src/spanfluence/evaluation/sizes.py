"""How much an evaluation computes, and what each size may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from spanfluence.errors import InputError
from spanfluence.planting import RATES, TRIGGERS, Trigger


class Rule(NamedTuple):
    """What a size must be, in words and as a test."""

    wanted: str
    fits: Callable[[Any], bool]


def _whole(value: Any, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _share(value: Any) -> bool:
    return isinstance(value, float) and 0 < value < 1


def _each(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, tuple | list) and len(value) > 0 and all(map(fits, value))
    )


COUNT = Rule("a whole number, at least 1", _whole)
COUNT_OR_ALL = Rule(
    "a whole number, at least 1, or null for all", lambda value: value is None or _whole(value)
)
PAIRS = Rule("a whole number, at least 2", lambda value: _whole(value, 2))
"""Of subsets: ranks are correlated over them."""
COUNTS = Rule("a list of whole numbers, at least 1 each, such as [10, 100]", _each(_whole))
SHARES = Rule("a list of shares between 0 and 1, such as [0.05, 0.1]", _each(_share))
SOME_TRIGGERS = Rule(
    "a list of one or more triggers", _each(lambda value: isinstance(value, Trigger))
)
RULES: dict[str, Rule] = {
    "ks": COUNTS,
    "curve": COUNTS,
    "shares": SHARES,
    "seeds": COUNT,
    "repetitions": COUNT,
    "faithful_tests": COUNT,
    "removal_train": COUNT_OR_ALL,
    "small_train": COUNT,
    "small_tests": COUNT,
    "subsets": PAIRS,
    "planted_train": COUNT,
    "planted_tests": COUNT,
    "planted_seeds": COUNT,
    "triggers": SOME_TRIGGERS,
    "rates": SHARES,
    "flips": SHARES,
}


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is computed; `quick` is for a first look."""

    ks: tuple[int, ...] = (10, 100)
    curve: tuple[int, ...] = (1, 2, 5, 10, 20, 50, 100, 200, 500)
    shares: tuple[float, ...] = (0.2, 0.5)
    seeds: int = 3
    repetitions: int = 5
    faithful_tests: int = 50
    removal_train: int | None = None
    small_train: int = 2000
    small_tests: int = 100
    subsets: int = 60
    planted_train: int = 3000
    planted_tests: int = 25
    planted_seeds: int = 2
    triggers: tuple[Trigger, ...] = TRIGGERS
    rates: tuple[float, ...] = RATES
    flips: tuple[float, ...] = (0.05, 0.1)

    def __post_init__(self) -> None:
        for name, rule in RULES.items():
            value = getattr(self, name)
            if not rule.fits(value):
                seen = list(value) if isinstance(value, tuple) else value
                raise InputError(f"{name}={seen!r} must be {rule.wanted}")

    @classmethod
    def quick(cls, **changes: Any) -> Sizes:
        """Minutes instead of hours; the figures mean little."""
        few: dict[str, Any] = {
            "ks": (5, 10),
            "curve": (1, 2, 5, 10, 20, 50),
            "seeds": 1,
            "repetitions": 1,
            "faithful_tests": 5,
            "removal_train": 400,
            "small_train": 300,
            "small_tests": 10,
            "subsets": 6,
            "planted_train": 600,
            "planted_tests": 5,
            "planted_seeds": 1,
            "triggers": TRIGGERS[:1],
            "rates": (0.03,),
            "flips": (0.1,),
        }
        return cls(**{**few, **changes})
