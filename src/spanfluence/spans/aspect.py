"""Finder `aspect`: clauses ranked by the similarity of their embedding to the aspect's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import regex
from jaxtyping import Float

from spanfluence.errors import InputError
from spanfluence.spans.clauses import Clauses
from spanfluence.spans.embedding import SentenceEncoder
from spanfluence.spans.found import Finder, Found, Terms, clean_spans
from spanfluence.spans.terms import check_contexts, known_terms
from spanfluence.spans.words import word_ranges
from spanfluence.units import Example, Span

NEXT, BEFORE = 0.05, 0.15
"""A neighbour of the chosen clause joins it from this similarity on: opinions more often follow.

Chosen on TOWE training rows for a recall of 0.93; at 0.10 and 0.20 it is 0.91 (experiments/LOG.md)."""

# A clause that begins so turns to something else.
_TURN = regex.compile(r"(?:but|however|yet|although|though|whereas|while)\b", regex.IGNORECASE)
# Words that say nothing of the aspect when they stand at the edge of a span.
_HOLLOW = frozenset(
    [
        "the",
        "a",
        "an",
        "and",
        "but",
        "or",
        "yet",
        "plus",
        "also",
        "then",
        "is",
        "was",
        "are",
        "were",
        "be",
        "been",
        "am",
        "it",
        "this",
        "that",
        "these",
        "those",
        "there",
        "i",
        "we",
        "you",
        "he",
        "she",
        "they",
        "my",
        "our",
        "your",
        "his",
        "her",
        "their",
        "which",
        "who",
    ]
)


class Aspect(Finder):
    """The clause that speaks of the aspect, with neighbours that do too, without hollow edges.

    That is the clause which holds the aspect term; where the term is not in the text, the clause whose
    embedding is most similar. `top` > 1 gives further clauses, the most similar first.
    """

    name = "aspect"
    needs_context = True

    def __init__(
        self,
        encoder: SentenceEncoder | str | Path = "minilm",
        *,
        top: int = 1,
        device: str = "cpu",
    ) -> None:
        if top < 1:
            raise InputError(f"top={top} spans cannot be: use at least 1")
        self.source = "given" if isinstance(encoder, SentenceEncoder) else str(encoder)
        self.encoder = (
            encoder
            if isinstance(encoder, SentenceEncoder)
            else SentenceEncoder.load(encoder, device=device)
        )
        self.top = top
        self._clauses = Clauses()

    @property
    def settings(self) -> dict[str, object]:
        """The encoder and the number of spans beside the name."""
        return {"finder": self.name, "encoder": self.source, "top": self.top}

    def find(
        self,
        examples: Sequence[Example],
        terms: Terms | None = None,
        *,
        advance: Callable[[int], None] = lambda done: None,
    ) -> list[list[Found]]:
        """Spans of all examples; every distinct clause and aspect is embedded once."""
        check_contexts(examples, self.name)
        placed = known_terms(examples, terms)
        clauses = [[f.span for f in found] for found in self._clauses.find(examples)]
        pieces = [
            e.text[s.start : s.end] for e, own in zip(examples, clauses, strict=True) for s in own
        ]
        aspects = [str(example.context).strip() for example in examples]
        if not examples:
            return []
        vectors = self.encoder.embed([*pieces, *aspects])
        wanted, row, found = vectors[len(pieces) :], 0, []
        for index, (example, own) in enumerate(zip(examples, clauses, strict=True)):
            similar = vectors[row : row + len(own)] @ wanted[index]
            found.append(self._spans(example.text, own, similar, placed[index]))
            row += len(own)
            advance(1)
        return found

    def _spans(
        self,
        text: str,
        clauses: Sequence[Span],
        similar: Float[np.ndarray, " clauses"],
        term: Span | None,
    ) -> list[Found]:
        holding = [i for i, c in enumerate(clauses) if term is not None and _touch(c, term)]
        first, last = (holding[0], holding[-1]) if holding else (int(similar.argmax()),) * 2
        score = float(similar[first : last + 1].max())
        way = "term" if holding else "similarity"
        before = first > 0 and similar[first - 1] >= BEFORE and not _turns(text, clauses[first])
        if last + 1 < len(clauses) and similar[last + 1] >= NEXT:
            last += not _turns(text, clauses[last + 1])
        first -= before
        best = core(text, Span(clauses[first].start, clauses[last].end), term)
        found = [Found(best, score, self.name, way)]
        for i in np.argsort(-similar, kind="stable")[: self.top + last - first]:
            if not first <= i <= last and len(found) < self.top:
                rest = core(text, clauses[i], term)
                found.append(Found(rest, float(similar[i]), self.name, "similarity"))
        return found


def core(text: str, span: Span, term: Span | None) -> Span:
    """The span without the aspect term and words that say nothing at its edges, if words remain.

    The term is what the opinion is about, and the model reads it as the context already.
    """
    words = [(span.start + s, span.start + e) for s, e in word_ranges(text[span.start : span.end])]
    while words and _hollow(text, words[0], term):
        words.pop(0)
    while words and _hollow(text, words[-1], term):
        words.pop()
    if not words:
        return span
    return clean_spans(text, [(words[0][0], words[-1][1])])[0]


def _hollow(text: str, word: tuple[int, int], term: Span | None) -> bool:
    return text[word[0] : word[1]].lower() in _HOLLOW or (
        term is not None and term.start < word[1] and word[0] < term.end
    )


def _turns(text: str, clause: Span) -> bool:
    return _TURN.match(text, clause.start, clause.end) is not None


def _touch(a: Span, b: Span) -> bool:
    return a.start < b.end and b.start < a.end
