"""Finders `words` and `ngrams`: runs of letters, in any script."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from spanfluence.errors import InputError
from spanfluence.spans.found import Segmenter

# Scripts written without blanks between words: there each character is a word of its own.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_EMOJI = r"\p{Extended_Pictographic}"
WORD = regex.compile(
    rf"(?V1)[{_UNSPACED}]\p{{M}}*"
    rf"|[[\w]--[{_UNSPACED}]][[\w\p{{M}}]--[{_UNSPACED}]]*(?:['’‑-][[\w\p{{M}}]--[{_UNSPACED}]]+)*"
    rf"|(?={_EMOJI})\X"
)
"""A word: letters and digits with inner apostrophes and hyphens, one unspaced character, an emoji."""


def word_ranges(text: str) -> list[tuple[int, int]]:
    """Where the words of a text stand."""
    return [match.span() for match in WORD.finditer(text)]


class Words(Segmenter):
    """Every word."""

    name = "words"

    def cuts(self, text: str) -> list[tuple[int, int]]:
        """One range per word; a text without any word is one range."""
        return word_ranges(text) or [(0, len(text))]


class Ngrams(Segmenter):
    """Every run of `least` to `most` words; runs do not cross the end of a line."""

    name = "ngrams"

    def __init__(self, least: int = 1, most: int = 3) -> None:
        if not 1 <= least <= most:
            raise InputError(f"ngrams of {least} to {most} words cannot be: use 1 <= least <= most")
        self.least, self.most = least, most

    @property
    def settings(self) -> dict[str, object]:
        """The lengths beside the name."""
        return {"finder": self.name, "least": self.least, "most": self.most}

    def cuts(self, text: str) -> Iterator[tuple[int, int]]:
        """Ranges from the first letter of the first word to the last of the last."""
        words = word_ranges(text)
        if not words:
            yield 0, len(text)
        for first in range(len(words)):
            for last in range(first + self.least - 1, min(first + self.most, len(words))):
                start, end = words[first][0], words[last][1]
                if "\n" in text[start:end]:
                    break
                yield start, end
