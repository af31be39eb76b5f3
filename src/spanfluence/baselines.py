"""Cheap rankings that every method must beat: chance, words, sentence embeddings.

Each is a function of test units and training units and gives a matrix (tests, units), higher = more
alike. The words of a unit are those of its spans, or of its whole text where it has none. Equal scores
are common here; `metrics.ranking` orders them by a seeded draw. Gradient cosine, the fifth baseline, is
a row of the table of methods (`scoring.GRADIENT_COSINE`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import regex
from jaxtyping import Float

from spanfluence.errors import InputError, MissingExtra
from spanfluence.metrics import Matrix, agreement, cosines
from spanfluence.rng import numpy_generator
from spanfluence.units import Unit

Embedder = Callable[[Sequence[str]], Float[np.ndarray, "texts hidden"]]


def words(text: str) -> list[str]:
    """Lower-cased words; an apostrophe joins its sides."""
    found: list[str] = regex.findall(r"[\p{L}\p{N}]+(?:['’][\p{L}]+)*", text.lower())
    return found


def random_scores(tests: Sequence[Unit], units: Sequence[Unit], *, seed: int = 0) -> Matrix:
    """Chance."""
    return numpy_generator(seed, "baseline").random((len(tests), len(units)))


def overlap_scores(tests: Sequence[Unit], units: Sequence[Unit]) -> Matrix:
    """Jaccard overlap of the sets of words."""
    known = [set(words(unit.text)) for unit in units]
    result = np.zeros((len(tests), len(units)))
    for row, test in enumerate(tests):
        own = set(words(test.text))
        result[row] = [len(own & other) / max(1, len(own | other)) for other in known]
    return result


def bm25_package() -> Any:
    """The package behind BM25; raises where it is missing, so that a long job can ask beforehand."""
    try:
        import bm25s
    except ImportError:
        raise MissingExtra("bm25s", "evaluate", "the baseline BM25") from None
    return bm25s


def bm25_scores(tests: Sequence[Unit], units: Sequence[Unit]) -> Matrix:
    """BM25 (Lucene's form) of the test's words among the training units' words."""
    bm25s = bm25_package()
    documents = [words(unit.text) for unit in units]
    result = np.zeros((len(tests), len(units)))
    if not any(documents):
        return result  # texts without a single word: nothing can be found
    index = bm25s.BM25(method="lucene")
    index.index(documents, show_progress=False)
    for row, test in enumerate(tests):
        query = words(test.text)
        if query:  # the package cannot ask for nothing
            result[row] = index.get_scores(query)
    return result


def embedding_scores(tests: Sequence[Unit], units: Sequence[Unit], embed: Embedder) -> Matrix:
    """Cosine of sentence embeddings of the units' words; `embed` is any encoder of texts."""
    distinct = sorted({unit.text for unit in (*tests, *units)})
    row_of = {text: row for row, text in enumerate(distinct)}
    vectors = embed(distinct)
    return cosines(
        vectors[[row_of[test.text] for test in tests]],
        vectors[[row_of[unit.text] for unit in units]],
    )


def restricted(
    scores: Matrix, test_labels: Sequence[object], unit_labels: Sequence[object]
) -> Matrix:
    """The same list with all units of other labels than the test's moved below the rest."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (len(test_labels), len(unit_labels)):
        raise InputError(
            f"scores {scores.shape} need {scores.shape[0]} test and {scores.shape[1]} unit labels"
        )
    span = scores.max(axis=1, keepdims=True) - scores.min(axis=1, keepdims=True) + 1.0
    return np.where(agreement(test_labels, unit_labels) > 0, scores, scores - span)
