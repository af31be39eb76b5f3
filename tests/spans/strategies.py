"""Texts that upset offsets: right-to-left, CJK, emoji of several code points, combining marks."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = (
    "The soup was cold", "but", "and the wine list", "is great", ", ", ". ", "! ", "? ", "; ", " — ", " (", ") ",
    "\n", "\t", "  ", "…", "e\u0301", "👨‍👩‍👧", "🇫🇷", "👍🏽", "🍕", "الطعام كان رائعا", "، ", "؟ ", "האוכל היה טעים",
    "料理はとても美味しい", "。", "，", "ก็ดี", "हिन्दी", "।", "Mr. Smith", "3.50", "can't", "\u200d", "\u0301", "\x00", "\u2028",
)  # fmt: skip

texts = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60),
).filter(lambda text: bool(text.strip()))
