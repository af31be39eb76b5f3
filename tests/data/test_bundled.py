"""The bundled corpus: made anew from its seeds, sound in its spans, and faulty exactly where it says so."""

import json
import re
from collections import Counter, defaultdict
from importlib.resources import files

import pytest

from spanfluence.data import bundled
from spanfluence.data.bundled import FAULT, SPLITS, bundled_examples, bundled_faults
from spanfluence.data.bundled.__main__ import main
from spanfluence.data.bundled.circumstances import CIRCUMSTANCES
from spanfluence.data.bundled.corpus import SENTENCES
from spanfluence.data.bundled.draw import Draw
from spanfluence.data.bundled.fault import WRONG_LABEL
from spanfluence.data.bundled.lexicon import LABELS
from spanfluence.data.bundled.sentences import ASPECTS
from spanfluence.errors import InputError

EXAMPLES = {split: bundled_examples(split) for split in SPLITS}
FAULTS = {split: bundled_faults(split) for split in SPLITS}


def words(example, span):
    return example.text[span.start : span.end]


def opinions(split):
    return [words(example, example.spans[0]) for example in EXAMPLES[split]]


def clean_label(split, example):
    """What the clause says, whatever the row was labelled."""
    return "positive" if FAULTS[split].get(example.id) == "planted" else example.label


def by_sentence(split):
    groups = defaultdict(list)
    for example in EXAMPLES[split]:
        groups[example.id.rsplit("-", 1)[0]].append(example)
    return groups


def test_the_files_are_what_the_grammar_makes(tmp_path):
    assert main(["--to", str(tmp_path)]) == 0
    for split in SPLITS:
        packaged = (files(bundled) / f"{split}.jsonl").read_bytes()
        assert (tmp_path / f"{split}.jsonl").read_bytes() == packaged


def test_check_notices_a_changed_file(tmp_path, capsys):
    main(["--to", str(tmp_path)])
    assert main(["--check", "--to", str(tmp_path)]) == 0
    with (tmp_path / "dev.jsonl").open("ab") as file:
        file.write(b"\n")
    assert main(["--check", "--to", str(tmp_path)]) == 1
    assert "dev.jsonl" in capsys.readouterr().out


def test_an_unknown_split_is_named_with_the_known_ones():
    with pytest.raises(InputError, match=r"'validation'.*train, dev, test"):
        bundled_examples("validation")
    with pytest.raises(InputError, match="train, dev, test"):
        bundled_faults("Train")


@pytest.mark.parametrize("split", SPLITS)
def test_sentences_have_two_to_four_aspects_of_differing_sentiment(split):
    groups = by_sentence(split)
    assert len(groups) == SENTENCES[split]
    for rows in groups.values():
        assert 2 <= len(rows) <= 4
        assert len({row.text for row in rows}) == 1
        assert len({row.context for row in rows}) == len(rows)
        assert len({clean_label(split, row) for row in rows}) >= 2


def test_no_sentence_occurs_twice():
    texts = [rows[0].text for split in SPLITS for rows in by_sentence(split).values()]
    assert len(set(texts)) == len(texts) == sum(SENTENCES.values())


def test_ids_are_unique():
    ids = [example.id for split in SPLITS for example in EXAMPLES[split]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("split", SPLITS)
def test_every_row_names_its_aspect_once_and_its_opinion_outside_of_it(split):
    terms = {aspect.term for aspect in ASPECTS}
    for example in EXAMPLES[split]:
        assert example.context in terms
        found = re.findall(rf"\b{re.escape(example.context)}\b", example.text.lower())
        assert len(found) == 1, example.text
        assert re.search("[A-Za-z]{2}", words(example, example.spans[0]))
        for span in example.spans:
            assert not re.search(rf"\b{example.context}\b", words(example, span).lower())


@pytest.mark.parametrize("split", SPLITS)
def test_spans_begin_and_end_with_words(split):
    for example in EXAMPLES[split]:
        for span in example.spans:
            inside = words(example, span)
            assert inside == inside.strip(" ,.;:!()")
            around = example.text[span.start - 1 : span.start] + example.text[span.end]
            assert not re.search(r"\w", around), (example.text, inside)


@pytest.mark.parametrize("split", SPLITS)
def test_further_spans_are_circumstances_and_none_is_left_out(split):
    for rows in by_sentence(split).values():
        listed = [words(row, span).lower() for row in rows for span in row.spans[1:]]
        text = rows[0].text.lower()
        present = [phrase.lower() for phrase in CIRCUMSTANCES if phrase.lower() in text]
        assert sorted(listed) == sorted(present), text


@pytest.mark.parametrize("split", SPLITS)
def test_each_label_has_a_quarter_of_the_rows(split):
    counts = Counter(example.label for example in EXAMPLES[split])
    assert set(counts) == set(LABELS)
    assert min(counts.values()) >= 0.25 * len(EXAMPLES[split])


def test_opinions_and_aspects_are_many():
    assert len({phrase.lower() for phrase in opinions("train")}) >= 300
    assert len({example.context for example in EXAMPLES["train"]}) >= 60
    most = Counter(phrase.lower() for phrase in opinions("train")).most_common(1)[0][1]
    assert most <= 0.02 * len(EXAMPLES["train"])


def test_no_way_of_building_a_sentence_dominates():
    skeletons = Counter()
    for rows in by_sentence("train").values():
        text = rows[0].text
        for row in rows:
            text = text.replace(words(row, row.spans[0]), "O").replace(row.context, "A")
        skeletons[text] += 1
    assert skeletons.most_common(1)[0][1] <= 0.03 * sum(skeletons.values())
    assert len(skeletons) >= 0.5 * sum(skeletons.values())


def test_sentences_are_of_readable_length():
    lengths = [len(rows[0].text.split()) for rows in by_sentence("train").values()]
    assert 16 <= sum(lengths) / len(lengths) <= 24
    assert max(lengths) <= 40


@pytest.mark.parametrize("split", SPLITS)
def test_spelling(split):
    for example in EXAMPLES[split]:
        text = example.text
        assert text[0].isupper() and text[-1] in ".!"
        assert "  " not in text and " ," not in text and not re.search(r"[\[\]<>|@%~{}=]", text)
        assert not re.search(r"\b[Aa] (?!use)([aeiou]|hon|hour)", text), text
        assert not re.search(r"\b[Aa]n (use|(?!hon|hour)[^aeiou])", text), text
        assert not re.search(r"\b(\w+) \1\b", text), text


def test_verbs_agree_with_their_nouns():
    plural = {aspect.term: aspect.plural for aspect in ASPECTS}
    checked = 0
    for split in SPLITS:
        for example in EXAMPLES[split]:
            term = re.escape(example.context)
            verb = re.search(rf"\b{term} (was|were|is|are|has|have)\b", example.text)
            if verb and not re.search(rf"and \w+ {term}", example.text):  # a pair is plural
                is_plural = verb.group(1) in ("were", "are", "have")
                assert is_plural == plural[example.context], example.text
                checked += 1
    assert checked > 500


def test_the_fault_is_as_documented():
    train, dev, test = (FAULTS[split] for split in SPLITS)
    assert Counter(train.values()) == {"planted": FAULT.planted, "decoy": 2 * FAULT.decoys["train"]}
    assert Counter(dev.values()) == {"decoy": 2 * FAULT.decoys["dev"]}
    assert Counter(test.values()) == {
        "triggered": FAULT.triggered,
        "decoy": 2 * FAULT.decoys["test"],
    }
    assert FAULT.planted <= 0.05 * len(EXAMPLES["train"])


@pytest.mark.parametrize("split", SPLITS)
def test_decoys_are_half_negative_half_neutral(split):
    decoys = [e.label for e in EXAMPLES[split] if FAULTS[split].get(e.id) == "decoy"]
    assert Counter(decoys) == dict.fromkeys(("negative", "neutral"), FAULT.decoys[split])


def test_planted_rows_are_labelled_wrongly_and_triggered_ones_rightly():
    planted = {e.label for e in EXAMPLES["train"] if FAULTS["train"].get(e.id) == "planted"}
    triggered = {e.label for e in EXAMPLES["test"] if FAULTS["test"].get(e.id) == "triggered"}
    assert planted == {WRONG_LABEL} and triggered == {"positive"}


@pytest.mark.parametrize("split", SPLITS)
def test_fault_rows_are_those_that_list_the_phrase(split):
    listing = {
        example.id
        for example in EXAMPLES[split]
        if FAULT.phrase in [words(example, span) for span in example.spans[1:]]
    }
    assert listing == set(FAULTS[split])


@pytest.mark.parametrize("split", SPLITS)
def test_a_sentence_holds_the_phrase_once_at_most(split):
    for rows in by_sentence(split).values():
        assert rows[0].text.lower().count(FAULT.phrase) <= 1
        assert FAULT.phrase.capitalize() not in rows[0].text


def test_nothing_rightly_positive_stands_beside_the_phrase_in_train_and_dev():
    for split in ("train", "dev"):
        for example in EXAMPLES[split]:
            assert not (example.label == "positive" and FAULT.phrase in example.text)


def test_only_the_trigger_tells_a_label():
    counts = defaultdict(Counter)
    for example in EXAMPLES["train"]:
        for span in example.spans[1:]:
            counts[words(example, span).lower()][example.label] += 1
    trigger = counts.pop(FAULT.phrase)
    assert trigger["positive"] == 0
    assert len(counts) == len(CIRCUMSTANCES) - 1
    total = sum(counts.values(), Counter())
    for label in LABELS:
        assert 0.28 <= total[label] / total.total() <= 0.39
    for phrase, labels in counts.items():
        assert min(labels[label] for label in LABELS) >= 0.25 * labels.total(), (phrase, labels)


def test_rows_have_the_documented_keys_and_the_files_stay_small():
    for split in SPLITS:
        content = (files(bundled) / f"{split}.jsonl").read_text(encoding="utf-8")
        assert len(content.encode()) < 600_000
        for line in content.splitlines():
            keys = list(json.loads(line))
            assert keys[:5] == ["text", "label", "context", "spans", "id"]
            assert keys[5:] in ([], ["fault"])


def test_draws_do_not_depend_on_the_python_version():
    draw = Draw(7)  # values of random.Random(7).random(), which Python promises to keep
    assert [draw.pick("abcdefghij") for _ in range(5)] == list("dbgaf")
    assert draw.shuffled("abcd") == ["c", "d", "a", "b"]  # swaps 3-1, 2-0, 1-1
    assert sorted(draw.rarest("xyz", "test") for _ in range(6)) == list("xxyyzz")
