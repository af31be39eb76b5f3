"""Recurring phrases, and what they do to right answers."""

from __future__ import annotations

from dataclasses import replace

import tiny

from spanfluence import Example, Span, TextClassifier, Unit
from spanfluence.planting import insert_phrase
from spanfluence.sway import Sway, carriers, recurring, swaying


def test_recurring_phrases_are_whole():
    texts = ["when we were there"] * 12 + ["were open"] * 10 + [f"rare{i} one" for i in range(9)]
    assert recurring(texts) == [("were", 22), ("when we were there", 12), ("were open", 10)]
    assert recurring(texts, most=1) == [("were", 22)]
    assert recurring(["a b"] * 9) == []


def test_answers_that_change_are_counted(classifier):
    phrase = "never again"
    text = f"It was {phrase}."
    units = [
        Unit(Example(text, "negative", id=str(i)), (Span(7, 7 + len(phrase)),)) for i in range(11)
    ]
    dev = tiny.make_examples(30, seed=5)
    right = [
        replace(e, label=label)
        for e, label in zip(dev, classifier.predict(dev).labels, strict=True)
        if phrase not in e.text
    ]
    asked = [insert_phrase(example, phrase)[0] for example in right]
    answers = classifier.predict(asked).labels
    changed = [b for e, b in zip(right, answers, strict=True) if b != e.label]
    found = swaying(classifier, units, right)
    assert changed
    assert (found[0].phrase, found[0].units) == (phrase, 11)
    assert (found[0].changed, found[0].tried) == (len(changed), len(right))
    assert found[0].towards in changed
    assert found[0].reach == 11 * len(changed) / len(right)
    assert swaying(classifier, units, []) == []


class Labels:
    """A classifier that only knows its labels."""

    labels = ("good", "bad")

    def label_id(self, label):
        return label if isinstance(label, int) else self.labels.index(label)


KNOWN = Labels()


def test_carriers_have_a_notable_phrase_and_its_label():
    sways = [Sway("last night", 20, 30, 60, "bad"), Sway("dull", 12, 40, 60, "bad")]
    units = [
        Unit(Example("Good last night", "bad")),
        Unit(Example("Good last night", "good")),
        Unit(Example("dull", 1)),  # a class index is a label too
    ]
    assert carriers(KNOWN, units, sways) == {0, 2}
    assert carriers(KNOWN, units, [sways[0], Sway("dull", 6, 40, 60, "bad")]) == {0}
    assert carriers(KNOWN, units, [Sway("last night", 99, 5, 60, "bad")]) == set()
    assert carriers(KNOWN, units, []) == set()


def test_a_phrase_is_found_by_its_words_not_its_letters(classifier):
    sways = [Sway("it", 20, 30, 60, "bad")]
    units = [Unit(Example(text, "bad")) for text in ("Good with us", "Is IT, good?", "it's")]
    assert carriers(KNOWN, units, sways) == {1}
    told = [Unit(Example("It was never", "negative", id=str(i)), (Span(0, 2),)) for i in range(11)]
    dev = [Example(f"Sitting with the waiter {i}.", None) for i in range(20)]
    labels = [name for name in classifier.labels if name not in classifier.predict(dev).labels]
    assert labels
    right = [replace(example, label=labels[0]) for example in dev]  # so that every answer "changes"
    (found,) = swaying(classifier, told, right)
    assert (found.phrase, found.tried) == ("it", 20)


def test_a_phrase_that_the_model_would_not_read_is_not_tried(tiny_folder):
    short = TextClassifier.load(tiny_folder("bert"), max_length=16)
    phrase = "never again"
    units = [
        Unit(Example(f"It was {phrase}.", "negative", id=str(i)), (Span(7, 18),)) for i in range(11)
    ]
    long = [Example(f"{'good ' * 30}{i}", short.labels[0], id=str(i)) for i in range(4)]
    assert swaying(short, units, long) == []
