"""Random choices that give the same result on every Python version."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


class Draw:
    """Choices made from `random.Random.random` alone, whose sequence Python guarantees for a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a corpus, not a secret
        self._used: Counter[tuple[str, Hashable]] = Counter()

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._random.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """Any item, each as likely as the others."""
        return items[int(self._random.random() * len(items))]

    def weigh(self, weights: dict[H, float]) -> H:
        """A key, as likely as its weight."""
        left = self._random.random() * sum(weights.values())
        for item, weight in weights.items():
            left -= weight
            if left < 0:
                return item
        return list(weights)[-1]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in random order (Fisher-Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = int(self._random.random() * (last + 1))
            order[last], order[other] = order[other], order[last]
        return order

    def rarest(self, items: Sequence[H], purpose: str) -> H:
        """One of the items drawn least often for this purpose, so that none is worn out."""
        fewest = min(self._used[purpose, item] for item in items)
        item = self.pick([item for item in items if self._used[purpose, item] == fewest])
        self._used[purpose, item] += 1
        return item

    def put_back(self, item: Hashable, purpose: str) -> None:
        """Undo the count of a draw by `rarest` that was not used in the end."""
        self._used[purpose, item] -= 1
