"""Finder `rationale`: spans grown and shrunk greedily to the highest importance per word."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spanfluence.errors import InputError
from spanfluence.spans.clauses import Clauses
from spanfluence.spans.found import Finder, Found, Importance, Terms, clean_spans
from spanfluence.spans.words import word_ranges
from spanfluence.units import Example, Span

Run = tuple[int, int]  # first and last word, both inside


class Rationale(Finder):
    """The spans the classifier leans on: local maxima of imp per word.

    Starts from every clause and from the `seeds` words of highest imp; each step tries one word more or
    less on either side, moves to the best, and stops where no move is better. All tries of one step go
    through the classifier together. `top` spans are kept, none overlapping.
    """

    name = "rationale"

    def __init__(
        self, classifier: Importance, *, top: int = 3, seeds: int = 4, most_words: int = 12
    ) -> None:
        if not isinstance(classifier, Importance):
            raise InputError(
                f"classifier={classifier!r} cannot tell importance: give a TextClassifier"
            )
        if min(top, seeds, most_words) < 1:
            raise InputError("top, seeds and most_words of the rationale finder must be at least 1")
        self.classifier, self.top, self.seeds, self.most_words = classifier, top, seeds, most_words

    @property
    def settings(self) -> dict[str, object]:
        """The classifier, the search's limits and how the classifier masks beside the name."""
        mode = getattr(getattr(self.classifier, "encoder", None), "mask_mode", "mask")
        return {
            "finder": self.name,
            "model": str(getattr(self.classifier, "source", None) or "given"),
            "top": self.top,
            "seeds": self.seeds,
            "most_words": self.most_words,
            "mask": mode,
        }

    def find(
        self,
        examples: Sequence[Example],
        terms: Terms | None = None,
        *,
        advance: Callable[[int], None] = lambda done: None,
    ) -> list[list[Found]]:
        """Spans by imp, the highest first; the score is the imp."""
        found = []
        for example in examples:
            found.append(_Search(self, example).run())
            advance(1)
        return found


class _Search:
    """The climb over one text."""

    def __init__(self, finder: Rationale, example: Example) -> None:
        self.finder, self.example = finder, example
        words = clean_spans(example.text, word_ranges(example.text) or [(0, len(example.text))])
        self.words = finder.classifier.visible_spans(example, words)
        self.known: dict[Run, float] = {}

    def run(self) -> list[Found]:
        if not self.words:
            return []
        ends: dict[Run, float] = {}
        frontier = self._starts()
        while frontier:
            self._measure([move for run in frontier for move in (run, *self._moves(run))])
            better = {self._step(run) for run in frontier}
            ends |= {run: self.known[run] for run in better & frontier}
            frontier = better - frontier - ends.keys()
        return self._best(ends)

    def _starts(self) -> set[Run]:
        singles = [(i, i) for i in range(len(self.words))]
        self._measure(singles)
        starts = set(sorted(singles, key=lambda run: -self.known[run])[: self.finder.seeds])
        for clause in Clauses().find([self.example])[0]:
            inside = [
                i
                for i, word in enumerate(self.words)
                if clause.span.start <= word.start and word.end <= clause.span.end
            ]
            if inside:
                starts.add((inside[0], min(inside[-1], inside[0] + self.finder.most_words - 1)))
        return starts

    def _moves(self, run: Run) -> list[Run]:
        first, last = run
        moves = [(first - 1, last), (first, last + 1), (first + 1, last), (first, last - 1)]
        return [
            (a, b)
            for a, b in moves
            if 0 <= a <= b < len(self.words) and b - a < self.finder.most_words
        ]

    def _step(self, run: Run) -> Run:
        return max([run, *self._moves(run)], key=self._density)

    def _density(self, run: Run) -> float:
        return self.known[run] / (run[1] - run[0] + 1)

    def _span(self, run: Run) -> Span:
        return Span(self.words[run[0]].start, self.words[run[1]].end)

    def _measure(self, runs: Sequence[Run]) -> None:
        new = [run for run in dict.fromkeys(runs) if run not in self.known]
        if new:
            values = self.finder.classifier.importance(self.example, [self._span(r) for r in new])
            self.known |= {run: float(value) for run, value in zip(new, values, strict=True)}

    def _best(self, ends: dict[Run, float]) -> list[Found]:
        found: list[Found] = []
        taken: list[Run] = []
        for run in sorted(ends, key=lambda r: (-ends[r], r)):
            if len(found) < self.finder.top and not any(
                run[0] <= b and a <= run[1] for a, b in taken
            ):
                taken.append(run)
                found.append(Found(self._span(run), ends[run], self.finder.name, self.finder.name))
        return found
