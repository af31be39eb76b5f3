"""The reader: questions, votes, failure and the heuristic behind it; the model that answers."""

from __future__ import annotations

import json

import pytest
import tiny
import torch
from hypothesis import HealthCheck, given, settings
from strategies import texts

from spanfluence import Example, Span
from spanfluence.errors import InputError, ModelError
from spanfluence.spans import finder_named
from spanfluence.spans.qa import Answer, Question, QuestionAnswerer, best_spans
from spanfluence.spans.reader import TEMPLATES, Reader, is_entire
from spanfluence.spans.sentences import sentence_ranges

TEXT = "We came late. The soup was cold, but the wine list was great. Never again."
SOUP = Example(TEXT, context="soup", id="1")


class Scripted(QuestionAnswerer):
    """Answers from a list, one per template, whatever is asked."""

    def __init__(self, *answers: tuple[int, int, float]) -> None:
        self.answers = [Answer(*answer) for answer in answers]
        self.asked: list[Question] = []

    def n_best(self, questions, n):
        self.asked += questions
        given = [self.answers[i % len(self.answers)] for i in range(len(questions))]
        return [[] if answer.is_empty else [answer] for answer in given]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.make_tiny_reader(tmp_path_factory.mktemp("reader") / "bert")


@pytest.fixture(scope="module")
def answerer(folder):
    return QuestionAnswerer.load(folder)


# --- questions and votes -----------------------------------------------------------------------------


def test_the_eleven_questions_of_the_paper():
    script = Scripted((31, 35, 0.9))
    Reader(script).find([SOUP])
    assert len(TEMPLATES) == 11
    assert [q.question for q in script.asked][:2] == ["How is the soup?", "How was the soup?"]
    assert script.asked[-1] == Question("What did the soup do?", TEXT)


def test_an_aspect_that_holds_an_x_is_put_in_as_it_is():
    script = Scripted((0, 4, 0.9))
    Reader(script).find([Example("XBOX X is fine here.", context="XBOX X")])
    assert script.asked[0].question == "How is the XBOX X?"


def test_the_same_question_is_asked_once():
    script = Scripted((27, 35, 0.9))
    found = Reader(script).find([SOUP, SOUP])
    assert len(script.asked) == 11
    assert found[0] == found[1]


def test_questions_vote():
    cold, soup_cold, late = (27, 31, 0.5), (23, 31, 0.5), (3, 12, 0.9)
    script = Scripted(*[cold] * 4, *[soup_cold] * 4, *[late] * 3)
    ((found,),) = Reader(script).find([SOUP])
    assert TEXT[found.span.start : found.span.end] in ("cold", "was cold")
    assert (found.finder, found.way) == ("reader", "reader")
    assert 0 < found.score <= 1


def test_breadth_favours_answers_that_leave_nothing_out():
    cold, great = (27, 31, 0.5), (55, 60, 0.45)
    script = Scripted(*[cold] * 6, *[great] * 5)
    narrow, broad = (Reader(script, breadth=b).find([SOUP])[0][0].span for b in (1, 8))
    assert TEXT[narrow.start : narrow.end] == "cold"
    assert TEXT[broad.start : broad.end] == "cold, but the wine list was great"
    with pytest.raises(InputError, match="breadth=0 must be positive"):
        Reader(script, breadth=0)


def test_failure_leads_to_the_sentence_around_the_term():
    entire, none = (0, len(TEXT), 0.9), (0, 0, 0.0)
    for answers in ([none] * 11, [entire] * 11, [none] * 5 + [entire] * 6):
        ((found,),) = Reader(Scripted(*answers)).find([SOUP])
        assert (
            TEXT[found.span.start : found.span.end]
            == "The soup was cold, but the wine list was great."
        )
        assert (found.way, found.score) == ("heuristic", 0.0)


def test_an_answer_below_the_bar_counts_as_none():
    script = Scripted((27, 31, 0.3))
    assert Reader(script, least_score=0.2).find([SOUP])[0][0].way == "reader"
    assert Reader(script, least_score=0.5).find([SOUP])[0][0].way == "heuristic"
    elsewhere = Example(TEXT, context="parking")
    assert Reader(script, least_score=0.5).find([elsewhere])[0][0].way == "reader", (
        "nothing to start from"
    )
    with pytest.raises(InputError, match="least_score=2 must lie between 0 and 1"):
        Reader(script, least_score=2)


def test_the_folder_may_carry_its_bar(folder, tmp_path):
    import shutil

    own = tmp_path / "reader"
    shutil.copytree(folder, own)
    assert Reader(own).least_score == 0.0
    (own / "run.json").write_text(json.dumps({"least_score": 0.35, "breadth": 2}))
    assert Reader(own).breadth == 2.0
    assert Reader(own).least_score == 0.35
    assert Reader(own).settings["least_score"] == 0.35
    assert Reader(own, least_score=0.1).least_score == 0.1


def test_offsets_say_which_occurrence_is_meant():
    text = "The soup was cold. Later the soup was hot."
    example = Example(text, context="soup")
    nothing = Scripted((0, 0, 0.0))
    ((first,),) = Reader(nothing).find([example])
    ((second,),) = Reader(nothing).find([example], [Span(29, 33)])
    assert text[first.span.start : first.span.end] == "The soup was cold."
    assert text[second.span.start : second.span.end] == "Later the soup was hot."


def test_an_aspect_that_is_not_in_the_text():
    elsewhere = Example(TEXT, context="parking")
    assert Reader(Scripted((0, 0, 0.0))).find([elsewhere]) == [[]]
    assert len(Reader(Scripted((27, 31, 0.9))).find([elsewhere])[0]) == 1


def test_bad_input():
    reader = Reader(Scripted((0, 0, 0.0)))
    with pytest.raises(InputError, match="example '7' has no context"):
        reader.find([Example(TEXT, id="7")])
    with pytest.raises(InputError, match="1 terms for 2 examples"):
        reader.find([SOUP, SOUP], [None])
    with pytest.raises(InputError, match=r"term of example '1'.*reaches outside the text"):
        reader.find([SOUP], [Span(70, 99)])
    with pytest.raises(InputError, match=r"term of example 2: span .*reaches outside the text"):
        reader.find([SOUP, Example(TEXT, context="soup")], [None, Span(70, 99)])
    for none in ("How is the X?", ()):
        with pytest.raises(InputError, match="are no questions: give a list"):
            Reader(reader.reader, templates=none)


def test_a_language_that_is_none_is_refused_before_the_model_is_read(tmp_path):
    with pytest.raises(InputError, match="no rules for language 'xx'"):
        Reader(tmp_path / "no model", language="xx")
    with pytest.raises(InputError, match="no rules for language 'xx'"):
        sentence_ranges(TEXT, "xx")


def test_settings_name_all_that_decides_the_spans():
    script = Scripted((0, 0, 0.0))
    plain = Reader(script).settings
    assert (plain["language"], plain["templates"]) == ("en", list(TEMPLATES))
    assert Reader(script, language="de").settings != plain
    assert Reader(script, templates=["Why X?"] * len(TEMPLATES)).settings != plain


def test_the_entire_text():
    assert is_entire(" It was good. ", 1, 12)
    assert is_entire(" It was good. ", 0, 14)
    assert not is_entire(" It was good. ", 4, 12)


# --- the model ---------------------------------------------------------------------------------------


def test_best_spans_agree_with_a_plain_loop():
    torch.manual_seed(0)
    start, end = torch.randn(4, 9), torch.randn(4, 9)
    inside = torch.zeros(4, 9, dtype=torch.bool)
    inside[:, 3:8] = True
    margins, spans, chances = (v[:, 0] for v in best_spans(start, end, inside, longest=3, n=4))
    for row in range(4):
        table = {
            (i, j): float(start[row, i] + end[row, j])
            for i in range(3, 8)
            for j in range(i, min(i + 3, 8))
        }
        nothing = float(start[row, 0] + end[row, 0])
        best = max(table, key=table.get)
        assert tuple(spans[row].tolist()) == best
        assert margins[row].item() == pytest.approx(table[best] - nothing, abs=1e-5)
        total = sum(torch.tensor([*table.values(), nothing]).exp()).item()
        assert chances[row].item() == pytest.approx(
            torch.tensor(table[best]).exp().item() / total, rel=1e-4
        )


def test_a_batch_answers_as_each_question_alone(answerer):
    questions = [
        Question("How is the soup?", TEXT),
        Question("How is the wine list?", "The wine list was great."),
        Question("What happened to the café?", "The café 🍕 was closed."),
    ]
    together = answerer.answer(questions)
    for question, answer in zip(questions, together, strict=True):
        (alone,) = answerer.answer([question])
        assert (alone.start, alone.end) == (answer.start, answer.end)
        assert alone.probability == pytest.approx(answer.probability, rel=1e-4)
    assert answerer.answer([]) == []


def test_the_best_answers_in_order(answerer):
    question = Question("How is the soup?", TEXT)
    (few,) = answerer.n_best([question], 4)
    if few:
        assert len(few) == 4
        assert few[0] == answerer.answer([question])[0]
        chances = [answer.probability for answer in few]
        assert chances == sorted(chances, reverse=True)
        assert len({(a.start, a.end) for a in few}) == 4


def test_a_long_text_is_read_in_windows(answerer):
    text = "The soup was cold, but the wine list was great. " * 60
    question = Question("How is the soup?", text)
    windows = answerer.windows([question])
    assert len(windows) > 10
    seen = {i for w in windows for s, e in w.offsets[w.inside].tolist() for i in range(s, e)}
    assert {i for i, c in enumerate(text) if not c.isspace()} <= seen
    (answer,) = answerer.answer([question])
    assert 0 <= answer.start <= answer.end <= len(text)


def test_an_aspect_too_long_for_the_reader(answerer):
    with pytest.raises(InputError, match="leaves no room for the text"):
        Reader(answerer).find([Example("The soup.", context="soup " * 100)])


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=texts)
def test_every_span_lies_in_the_text_on_whole_characters(answerer, text):
    (found,) = Reader(answerer).find([Example(text, context="soup")])
    for item in found:
        item.span.check_inside(text)
        assert text[item.span.start : item.span.end].strip()


def test_models_that_are_no_readers(tiny_folder, tmp_path):
    with pytest.raises(ModelError, match=r"is not a question-answering model \(qa_outputs"):
        finder_named("reader", reader=tiny_folder("bert"))
    with pytest.raises(ModelError, match="no folder"):
        finder_named("reader", reader=str(tmp_path / "nothing"))
    with pytest.raises(InputError, match="needs a question-answering model"):
        finder_named("reader")


@pytest.mark.parametrize("architecture", ["roberta", "distilbert"])
def test_other_architectures(tmp_path, architecture):
    folder = tiny.make_tiny_reader(tmp_path / architecture, architecture)
    ((found,),) = finder_named("reader", reader=folder).find([SOUP])
    found.span.check_inside(TEXT)
