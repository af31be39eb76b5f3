"""From characters to tokens, for eight families of tokenizers and texts of every script."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import reference
import regex
import tiny
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from spanfluence.encoding import BATCH_COST, TextEncoder, length_batches
from spanfluence.errors import InputError, ModelError
from spanfluence.units import Example, Span, Unit

WINDOW = 64
WORDS = [
    "food", "Pizza", "crème", "brûlée", "naïve", "jalapen\u0303o", "unheard-of", "I'd", "...",
    "🍕", "👩\u200d👩\u200d👧", "🇫🇮", "👍🏽", "日本", "語", "한국", "ñ", "e\u0301\u0327", "x", "\u200b",
]  # fmt: skip
SPACES = ["", " ", "  ", "   ", "\t", "\n", "\u00a0", " \u3000 "]
TEXTS = st.lists(
    st.tuples(st.sampled_from(SPACES), st.sampled_from(WORDS)), min_size=1, max_size=7
).map(lambda parts: "".join(space + word for space, word in parts))


@pytest.fixture(scope="module", params=tiny.ARCHITECTURES)
def encoder(request, tiny_folder) -> TextEncoder:
    return TextEncoder(AutoTokenizer.from_pretrained(tiny_folder(request.param)), WINDOW)


@pytest.fixture(scope="module")
def bert(tiny_folder) -> TextEncoder:
    return TextEncoder(AutoTokenizer.from_pretrained(tiny_folder("bert")), WINDOW)


def draw_example(data) -> Example:
    """A text with a span at the edges of its visible characters, with or without a context."""
    text = data.draw(TEXTS.filter(lambda text: text.strip()))
    edges = [match.start() for match in regex.finditer(r"\X", text)] + [len(text)]
    first = data.draw(st.integers(0, len(edges) - 2))
    last = data.draw(st.integers(first + 1, len(edges) - 1))
    context = data.draw(st.sampled_from([None, "food", "日本 語", ""]))
    return Example(text, context=context, spans=[(edges[first], edges[last])])


def raw_tokens(tokenizer, example: Example):
    """(segment, start, end) of every token, as the tokenizer alone tells it."""
    pair = (example.text,) if example.context is None else (example.context, example.text)
    row = tokenizer(*pair, truncation="only_second" if len(pair) == 2 else True,
                    max_length=WINDOW, return_offsets_mapping=True)  # fmt: skip
    return [(segment, *offsets) for segment, offsets in
            zip(row.sequence_ids(0), row["offset_mapping"], strict=True)]  # fmt: skip


def visible(text: str, start: int, end: int) -> set[int]:
    """Offsets of a token's characters without the white space around them."""
    places = [place for place in range(start, end) if not text[place].isspace()]
    return set(range(places[0], places[-1] + 1)) if places else set()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_masked_are_exactly_the_tokens_of_the_text_that_touch_the_span(encoder, data):
    example = draw_example(data)
    span = example.spans[0]
    plain = encoder.encode([example])[0]
    tokens = raw_tokens(encoder.tokenizer, example)
    own = 0 if example.context is None else 1
    shown = [
        visible(example.text, start, end) if segment == own else set()
        for segment, start, end in tokens
    ]
    reached = [bool(places & set(range(span.start, span.end))) for places in shown]
    if not any(reached):
        with pytest.raises(
            InputError, match=r"touches no token of the text|lies beyond the 64 tok"
        ):
            encoder.span_positions(plain, Unit(example, example.spans))
        return
    positions = encoder.span_positions(plain, Unit(example, example.spans))
    masked = encoder.mask(plain, positions)

    assert len(masked) == len(plain) == len(tokens)
    assert (masked.input_ids[positions] == encoder.tokenizer.mask_token_id).all()
    assert (masked.input_ids[~positions] == plain.input_ids[~positions]).all()
    for position, (segment, start, end) in enumerate(tokens):
        if segment != own:
            assert not positions[position], "special tokens and context are never masked"
        elif shown[position]:
            assert positions[position] == reached[position]
        elif positions[position]:  # a bare space goes only with the words around it
            assert span.start <= start and end < span.end


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_encoding_is_that_of_the_naive_reference(encoder, data):
    examples = [draw_example(data), draw_example(data)]
    for example, plain in zip(examples, encoder.encode(examples), strict=True):
        inputs, _ = reference.encode(encoder.tokenizer, example)
        assert plain.input_ids.tolist() == inputs["input_ids"][0].tolist()
        if "token_type_ids" in inputs:
            assert plain.token_type_ids.tolist() == inputs["token_type_ids"][0].tolist()
        masked, positions = reference.encode(encoder.tokenizer, example, example.spans)
        try:
            found = encoder.span_positions(plain, Unit(example, example.spans))
        except InputError:
            continue
        assert found.nonzero()[0].tolist() == positions
        assert encoder.mask(plain, found).input_ids.tolist() == masked["input_ids"][0].tolist()


def test_a_unit_without_spans_is_every_token_of_its_text(encoder):
    example = Example("the soup was cold", context="soup")
    plain = encoder.encode([example])[0]
    own = [segment == 1 for segment, *_ in raw_tokens(encoder.tokenizer, example)]
    assert encoder.span_positions(plain, Unit(example)).tolist() == own


def test_several_spans_are_masked_together(encoder):
    example = Example("cold soup and rude staff", spans=[(0, 4), (14, 18)])
    plain = encoder.encode([example])[0]
    each = [encoder.span_positions(plain, Unit(example, (span,))) for span in example.spans]
    both = encoder.span_positions(plain, Unit(example, example.spans))
    assert both.tolist() == (each[0] | each[1]).tolist()
    assert not (each[0] & each[1]).any()


def test_a_space_at_the_edge_of_a_span_does_not_reach_the_next_word(encoder):
    example = Example("the soup was cold")
    plain = encoder.encode([example])[0]
    alone = encoder.span_positions(plain, Unit(example, (Span(4, 8),)))
    wide = encoder.span_positions(plain, Unit(example, (Span(3, 9),)))
    assert wide.tolist() == alone.tolist()


def test_an_equal_text_has_an_equal_key_and_another_has_not(encoder):
    examples = [Example("cold soup"), Example("cold soup", id="2"), Example("soup", context="cold"),
                Example("cold soup!")]  # fmt: skip
    keys = [encoded.key for encoded in encoder.encode(examples)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_a_span_beyond_the_window_is_refused_and_says_so(encoder):
    text = "the soup was cold " * 40
    example = Example(text, spans=[(len(text) - 5, len(text) - 1)], id="long")
    plain = encoder.encode([example])[0]
    assert len(plain) == WINDOW
    with pytest.raises(InputError) as caught:
        encoder.span_positions(plain, Unit(example, example.spans))
    assert str(caught.value) == (
        f"span [{len(text) - 5}, {len(text) - 1}) 'cold' of example 'long' lies beyond the 64 tokens "
        "the model reads: shorten the text, or move the span into its first part"
    )
    assert encoder.span_positions(plain, Unit(example, (Span(4, 8),))).any()


def test_truncation_takes_from_the_text_and_leaves_the_context(encoder):
    example = Example("cold soup " * 60, context="the waiter")
    own = [segment for segment, *_ in raw_tokens(encoder.tokenizer, example)]
    plain = encoder.encode([example])[0]
    whole_context = raw_tokens(encoder.tokenizer, Example("x", context="the waiter"))
    assert own.count(0) == [segment for segment, *_ in whole_context].count(0)
    assert len(plain) == WINDOW
    assert plain.touching([Span(0, len(example.text))]).sum() == own.count(1)


def test_a_context_that_fills_the_window_is_refused(encoder):
    with pytest.raises(InputError) as caught:
        encoder.encode([Example("soup", context="the waiter " * 60)])
    assert str(caught.value).startswith("cannot fit context and text into 64 tokens")
    assert str(caught.value).endswith("shorten the context")


def test_what_is_not_unicode_is_refused_for_what_it_is(bert):
    with pytest.raises(InputError) as caught:
        bert.encode([Example("half of a pair: \ud83c")])
    assert "not valid Unicode" in str(caught.value)
    assert "context" not in str(caught.value)


@pytest.mark.parametrize("space", [" ", "   ", "     ", "\t\n", "\u3000\u3000\u3000"])
def test_a_span_of_white_space_is_refused(encoder, space):
    example = Example(f"cold{space}soup", spans=[(4, 4 + len(space))], id="blank")
    plain = encoder.encode([example])[0]
    with pytest.raises(InputError) as caught:
        encoder.span_positions(plain, Unit(example, example.spans))
    assert "of example 'blank' touches no token of the text" in str(caught.value)
    assert "visible character" in str(caught.value)


def test_a_character_that_the_tokenizer_drops_is_not_called_too_long(bert):
    example = Example("soup \u200b", spans=[(5, 6)])
    with pytest.raises(InputError, match="touches no token"):
        bert.span_positions(bert.encode([example])[0], Unit(example, example.spans))


def test_a_tokenizer_without_mask_token_says_what_to_do(tmp_path):
    tokenizer = tiny.make_tokenizer("bert", mask_token=False)
    encoder = TextEncoder(tokenizer, WINDOW)
    plain = encoder.encode([Example("cold soup")])[0]
    with pytest.raises(ModelError) as caught:
        encoder.mask(plain, np.ones(len(plain), dtype=bool))
    message = str(caught.value)
    assert "has no mask token" in message
    assert "mask_mode='attention'" in message
    assert "(if, tracin, tracinf)" in message


def test_a_tokenizer_without_offsets_is_refused():
    with pytest.raises(ModelError, match=r"gives no character offsets.*tokenizer\.json"):
        TextEncoder(SimpleNamespace(is_fast=False), WINDOW)


def test_collating_pads_to_the_longest(encoder):
    examples = [Example("soup"), Example("the soup was cold", context="soup")]
    batch = encoder.encode(examples)
    inputs = encoder.collate(batch, torch.device("cpu"))
    longest = max(len(encoded) for encoded in batch)
    assert inputs["input_ids"].shape == inputs["attention_mask"].shape == (2, longest)
    for row, encoded in enumerate(batch):
        assert inputs["attention_mask"][row].tolist() == [1] * len(encoded) + [0] * (
            longest - len(encoded)
        )
        assert inputs["input_ids"][row, : len(encoded)].tolist() == encoded.input_ids.tolist()
        assert set(inputs["input_ids"][row, len(encoded) :].tolist()) <= {
            encoder.tokenizer.pad_token_id
        }
    expected = set(encoder.tokenizer.model_input_names)
    assert set(inputs) == expected


def test_examples_keep_their_order(bert):
    examples = tiny.make_examples(9, seed=0)
    together = bert.encode(examples)
    for example, encoded in zip(examples, together, strict=True):
        assert encoded.key == bert.encode([example])[0].key
    assert bert.encode([]) == []


@given(
    lengths=st.lists(st.integers(1, 90), max_size=60),
    budget=st.integers(1, 400),
)
def test_batches_hold_every_index_once_within_the_budget(lengths, budget):
    batches = length_batches(lengths, budget)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[index] for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget
    longest = [max(lengths[index] for index in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)


@given(lengths=st.lists(st.integers(1, 60), min_size=1, max_size=9), budget=st.integers(1, 400))
def test_no_other_batches_of_neighbours_cost_less(lengths, budget):
    falling = sorted(lengths, reverse=True)

    def cost(batches):
        return sum(len(batch) * max(batch) + BATCH_COST for batch in batches)

    def cuts(rest):
        """All ways to cut a list of falling lengths into batches within the budget."""
        if not rest:
            yield []
        for size in range(1, len(rest) + 1):
            if size == 1 or size * rest[0] <= budget:
                yield from ([rest[:size], *others] for others in cuts(rest[size:]))

    found = [[lengths[index] for index in batch] for batch in length_batches(lengths, budget)]
    assert cost(found) == min(map(cost, cuts(falling)))
