"""Sentence patterns. Each names the clauses it joins as `{a}`, `{b}` ... in one of the forms of `Part`.

Patterns are grouped by what the sentiments of `a` and `b` must be to each other.
"""

from __future__ import annotations

import re

CONTRAST = (
    "{a.main}, but {b.main}",
    "{a.main}, but {b}",
    "{a}, yet {b}",
    "although {a}, {b.main}",
    "{a}, although {b}",
    "while {a}, {b}",
    "{a}, while {b}",
    "{a}, whereas {b}",
    "even though {a}, {b}",
    "{a}, even though {b}",
    "{a}, unlike {b.who}",
    "unlike {b.who}, {a}",
    "{a.main}; not so {b.who}",
    "{a.main}; {b}, though",
    "{a.main}; on the other hand, {b}",
    "{a}; then again, {b}",
    "it is true that {a}, but {b}",
    "granted, {a}, but {b.main}",
    "{a.main} – but {b.main}",
    "{a.brief} but {b.brief}: {verdict}",
    "{a.brief}, {b.brief}: {verdict}",
    "we found that {a} and, to our surprise, that {b}",
)
RISE = (
    "{a}; luckily, {b}",
    "{a}, but at least {b}",
    "despite {a.who}, {b}",
    "{a}, though all was forgiven because {b}",
    "never mind that {a}: {b.main}",
    "yes, {a}, but {b.main}",
    "if {a}, at least {b}",
    "we nearly left because {a}, but {b}",
)
FALL = (
    "{a}; sadly, {b}",
    "{a}, which is more than can be said for {b.who}",
    "{a} – a pity that {b}",
    "{a}; it is just a shame that {b}",
    "{a}, so it hurts to report that {b}",
    "for a place where {a}, it is odd that {b}",
    "we would have stayed longer, since {a}, but {b}",
)
PLAIN = (
    "{a.main}, and {b}",
    "{a.main}; {b.main}",
    "{a}, while {b}",
    "{a}; as for {b.name}, {b.it}",
    "{a}, and as for {b.name}, {b.it}",
    "we can report that {a} and that {b}",
    "what we remember: {a}, and {b}",
    "my notes say that {a} and that {b}",
    "{a.brief}, {b.brief}: {verdict}",
)
ASIDE = (  # a is neutral
    "{b.main} ({a})",
    "{b} ({a}, by the way)",
    "{a.lead}, {b}",
    "{a.lead}, {b.main}",
    "for the record, {a}, and {b.main}",
    "{b.main}; incidentally, {a}",
    "{b}, and just so you know, {a}",
    "{a}; {b.main}",
)
SAME = (
    "{a.main}, and {b}",
    "{a.main}; {b.main}",
    "{a}, and what is more, {b}",
    "{a}; likewise, {b}",
)
TAILS = {
    "contrast": ("; still, {z}", "; then again, {z}", ", but {z.main}", " – but {z}"),
    "plain": (", and {z}", "; {z.main}", "; meanwhile, {z}", "; apart from that, {z}"),
}
LISTS = {
    3: (
        "{a.brief}, {b.brief} and {c.brief}: {verdict}",
        "expect {a.brief}, {b.brief} and {c.brief}",
        "we got {a.brief}, {b.brief} and {c.brief}",
        "picture {a.brief}, {b.brief} and {c.brief}, and you have the idea",
        "a place with {a.brief}, {b.brief} and {c.brief}",
        "{a.brief}, {b.brief} – and {c}",
        "our summary: {a.brief}, {b.brief} and {c.brief}",
    ),
    4: (
        "{a.brief}, {b.brief}, {c.brief} and {d.brief}: {verdict}",
        "expect {a.brief}, {b.brief}, {c.brief} and {d.brief}",
        "{a.brief}, {b.brief}, {c.brief} – and {d}",
        "in four strokes: {a.brief}, {b.brief}, {c.brief} and {d.brief}",
        "we got {a.brief}, {b.brief} and {c.brief}; {d}",
    ),
}
LEDGERS = {  # by the labels of a, b, c ...
    ("positive", "negative", "neutral"): (
        "the good: {a.brief}; the bad: {b.brief}; the so-so: {c.brief}",
        "thumbs up: {a.brief}; thumbs down: {b.brief}; in between: {c.brief}",
    ),
    ("positive", "positive", "negative"): (
        "on the plus side, {a.brief} and {b.brief}; on the minus side, {c.brief}",
        "pros: {a.brief}, {b.brief}; cons: {c.brief}",
    ),
    ("positive", "negative", "negative"): (
        "on the plus side, {a.brief}; on the minus side, {b.brief} and {c.brief}",
        "pros: {a.brief}; cons: {b.brief}, {c.brief}",
    ),
    ("positive", "positive", "negative", "negative"): (
        "on the plus side, {a.brief} and {b.brief}; on the minus side, {c.brief} and {d.brief}",
        "pros: {a.brief}, {b.brief}; cons: {c.brief}, {d.brief}",
    ),
}


def pair_patterns(first: str, second: str) -> tuple[str, ...]:
    """The patterns for a clause with the first label followed by one with the second."""
    if {first, second} == {"positive", "negative"}:
        return CONTRAST + (RISE if second == "positive" else FALL)
    if first == second:
        return SAME[:2] if first == "neutral" else SAME
    return PLAIN + (ASIDE if first == "neutral" else ())


def fields(pattern: str) -> dict[str, set[str]]:
    """For each letter of a pattern, the forms in which it occurs ("" for the plain clause)."""
    found: dict[str, set[str]] = {}
    for letter, form in re.findall(r"\{([a-z])(?:\.([a-z]+))?\}", pattern):
        found.setdefault(letter, set()).add(form)
    return found


def takes_circumstance(pattern: str, letter: str) -> bool:
    """Whether the letter's clause can carry a circumstance in this pattern."""
    return bool(fields(pattern)[letter] & {"", "main", "who", "it"})


def last_letter(pattern: str) -> str:
    """The letter of the clause the pattern ends with, or "" when it ends in other words."""
    end = re.search(r"\{([a-z])(?:\.[a-z]+)?\}$", pattern)
    return end.group(1) if end else ""
