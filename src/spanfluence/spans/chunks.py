"""Finder `chunks`: noun chunks, verb groups and dependency clauses by spaCy (extra `spacy`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from spanfluence.data.reading import problem
from spanfluence.errors import InputError, MissingExtra
from spanfluence.spans.clauses import bare_range
from spanfluence.spans.found import Finder, Found, Terms, clean_spans
from spanfluence.units import Example

# Dependencies that head a clause of their own.
_CLAUSES = frozenset(("ROOT", "conj", "advcl", "ccomp", "xcomp", "relcl", "acl", "parataxis"))
_VERB_PARTS = frozenset(("aux", "auxpass", "neg", "prt", "advmod", "acomp"))
_BATCH = 64


class Chunks(Finder):
    """Noun chunks, verbs with their auxiliaries and complements, and clauses of the parse.

    `pipeline` is any installed spaCy pipeline with a parser; without it an installed English one is
    used. `way` says which kind a span is.
    """

    name = "chunks"

    def __init__(self, pipeline: str | None = None) -> None:
        self.pipeline = pipeline or _installed_english()
        self._nlp = _load(self.pipeline)

    @property
    def settings(self) -> dict[str, object]:
        """The pipeline beside the name."""
        return {"finder": self.name, "pipeline": self.pipeline}

    def find(
        self,
        examples: Sequence[Example],
        terms: Terms | None = None,
        *,
        advance: Callable[[int], None] = lambda done: None,
    ) -> list[list[Found]]:
        """All chunks of each text in reading order, each range once; a shared text is parsed once."""
        texts = list(dict.fromkeys(example.text for example in examples))
        known: dict[str, list[Found]] = {}
        for text, doc in zip(texts, self._nlp.pipe(texts, batch_size=_BATCH), strict=True):
            known[text] = self._spans(text, doc)
        advance(len(examples))
        return [list(known[example.text]) for example in examples]

    def _spans(self, text: str, doc: Any) -> list[Found]:
        ways: dict[tuple[int, int], str] = {}
        for way, start, end in (*_nouns(doc), *_verbs(doc), *_clauses(doc)):
            if any(c.isalnum() for c in text[start:end]):
                ways.setdefault((start, end), way)
        return [
            Found(span, 1.0, self.name, way)
            for (start, end), way in sorted(ways.items())
            for span in clean_spans(text, [bare_range(text, start, end)])
        ]


def _nouns(doc: Any) -> Iterator[tuple[str, int, int]]:
    for chunk in doc.noun_chunks:
        yield "noun", chunk.start_char, chunk.end_char


def _verbs(doc: Any) -> Iterator[tuple[str, int, int]]:
    """A verb and what hangs directly on it without a noun: auxiliaries, negation, adjectives."""
    for token in doc:
        if token.pos_ in ("VERB", "AUX") and token.dep_ not in ("aux", "auxpass"):
            parts = [token]
            parts += [c for c in token.children if c.dep_ in _VERB_PARTS and c.tag_ != "WRB"]
            ends = [p.right_edge if p.dep_ == "acomp" else p for p in parts]
            last = max(ends, key=lambda t: t.i)
            yield "verb", min(parts, key=lambda t: t.i).idx, last.idx + len(last)


def _clauses(doc: Any) -> Iterator[tuple[str, int, int]]:
    """The subtree of each clause's verb, cut where a clause inside it begins or ends it."""
    heads = {t.i for t in doc if t.dep_ in _CLAUSES and t.pos_ in ("VERB", "AUX")}
    heads |= {t.i for t in doc if t.dep_ == "ROOT"}
    for index in sorted(heads):
        own = [t.i for t in doc[index].subtree if _nearest(t, heads) == index and not t.is_space]
        for first, last in _runs(own):
            if first <= index <= last:
                yield "clause", doc[first].idx, doc[last].idx + len(doc[last])


def _nearest(token: Any, heads: set[int]) -> int | None:
    while token.i not in heads:
        if token.head.i == token.i:
            return None
        token = token.head
    return int(token.i)


def _runs(indices: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each stretch of neighbouring numbers."""
    start = previous = None
    for index in sorted(indices):
        if previous is None or start is None:
            start = index
        elif index != previous + 1:
            yield start, previous
            start = index
        previous = index
    if start is not None and previous is not None:
        yield start, previous


def _spacy() -> Any:
    try:
        import spacy
    except ImportError:
        raise MissingExtra("spacy", "spacy", "the finder 'chunks'", then=_DOWNLOAD) from None
    return spacy


_DOWNLOAD = "python -m spacy download en_core_web_sm"
_GET_ONE = f"get one with: pip install 'spanfluence[spacy]', then: {_DOWNLOAD}"


def _installed_english() -> str:
    names = [name for name in _spacy().util.get_installed_models() if name.startswith("en_")]
    if not names:
        raise InputError(
            f"no English spaCy pipeline is installed for the finder 'chunks': {_GET_ONE}"
        )
    return str(min(names, key=lambda name: ("_sm" not in name, name)))  # a small one is enough


def _load(pipeline: str) -> Any:
    spacy = _spacy()
    try:
        nlp = spacy.load(pipeline, exclude=["ner", "lemmatizer"])
    except OSError:
        raise InputError(f"spaCy has no pipeline {pipeline!r}: {_GET_ONE}") from None
    except ValueError as error:  # one that is there, but made for another version or by other code
        reason = " ".join(str(error).split())[:200]
        raise problem(f"the spaCy pipeline {pipeline!r}", f"{reason}: {_GET_ONE}") from None
    if "parser" not in nlp.pipe_names:
        raise InputError(f"the spaCy pipeline {pipeline!r} has no parser: use en_core_web_sm")
    return nlp
