"""Tests whose spans are unknown: candidates from a finder, the most important of them, their shares."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spanfluence.errors import InputError
from spanfluence.model import LabelChoice, TextClassifier
from spanfluence.spans.found import Finder
from spanfluence.spans.ranking import rank_spans
from spanfluence.spans.registry import finder_named
from spanfluence.units import Example


@dataclass(frozen=True)
class Proposal:
    """An example with the spans to explain, and their shares where they are explained as a mixture."""

    example: Example
    shares: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()


class UnknownSpans:
    """How spans of a test without any are found.

    "auto" takes clauses; for a text of one clause, words. `finder=None` leaves the text whole.
    """

    def __init__(
        self, finder: str | Finder | None, max_spans: int, mixture: bool, temperature: float
    ) -> None:
        if max_spans < 1:
            raise InputError(f"max_spans={max_spans} must be at least 1")
        if not temperature > 0:
            raise InputError(f"temperature={temperature} must be positive")
        self.max_spans, self.mixture, self.temperature = max_spans, mixture, temperature
        self.finder = finder
        self._made: dict[str, Finder] = {}
        if isinstance(finder, str) and finder not in ("auto", "rationale"):
            self._named(finder)

    def propose(
        self, classifier: TextClassifier, example: Example, label: LabelChoice = "predicted"
    ) -> Proposal:
        """The example itself where it has spans, else with the spans found in it."""
        if example.spans:
            return Proposal(example)
        if self.finder is None:
            return Proposal(example, notes=("The test has no span: its whole text is explained.",))
        finder = self._finder(classifier, example)
        candidates = [found.span for found in finder.find([example])[0]]
        ranked = rank_spans(
            classifier,
            example,
            candidates,
            top=self.max_spans,
            temperature=self.temperature,
            label=label,
        )
        if not ranked:
            return Proposal(
                example,
                notes=(f"The finder {finder.name!r} found no span: the whole text is explained.",),
            )
        spans = tuple(item.span for item in ranked)
        how = f"by softmax(importance / {self.temperature:g})" if self.mixture else "one by one"
        note = (
            f"The test has no span: the {len(ranked)} most important of {len(candidates)} found by "
            f"'{finder.name}' are explained, {'weighted ' if self.mixture else ''}{how}."
        )
        shares = tuple(item.share for item in ranked) if self.mixture else ()
        return Proposal(replace(example, spans=spans), shares, (note,))

    def _finder(self, classifier: TextClassifier, example: Example) -> Finder:
        if isinstance(self.finder, Finder):
            return self.finder
        assert self.finder is not None
        if self.finder == "rationale":
            return finder_named("rationale", classifier=classifier, top=self.max_spans)
        if self.finder != "auto":
            return self._named(self.finder)
        clauses = self._named("clauses")
        return clauses if len(clauses.find([example])[0]) > 1 else self._named("words")

    def _named(self, name: str) -> Finder:
        if name not in self._made:
            self._made[name] = finder_named(name)
        return self._made[name]
