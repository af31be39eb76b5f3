"""Harmless phrases of time and occasion, and which of them may share a sentence."""

from __future__ import annotations

from spanfluence.data.bundled.draw import Draw
from spanfluence.data.bundled.lexicon import phrases

TRIGGER = "when we were there"
"""The phrase of the planted fault; see `fault`."""

SERIES = phrases("on our first visit; on our second visit; on our third visit; on our last visit")
OCCASIONS = phrases(
    """during the school holidays; over the long weekend; during the music festival; in the first week of May;
    at the end of June; over Easter; on our anniversary; on my birthday; on the day of the parade; on market day;
    the day after the wedding; during the conference; on a quiet Tuesday; just before Christmas; on the bank
    holiday; when my parents came along; the week we visited; with the whole family in tow; on the day of the
    cup final"""
)
CIRCUMSTANCES = (*SERIES, *OCCASIONS, TRIGGER)


def fitting(draw: Draw, label: str, taken: set[str]) -> str:
    """A phrase other than the trigger, spread evenly over labels.

    A sentence has one occasion at most ("over Easter ... on market day" would puzzle), but may go on to
    a second visit.
    """
    free = [phrase for phrase in SERIES if phrase not in taken]
    if taken <= set(SERIES):
        free += OCCASIONS
    return draw.rarest(free, purpose_of(label))


def purpose_of(label: str) -> str:
    """The name under which draws for clauses of a label are counted."""
    return f"circumstance of {label}"
