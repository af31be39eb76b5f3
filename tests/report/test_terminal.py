"""What the terminal and `print` show."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console
from rich.style import Style
from sample import GOOD, PHRASE, PLANTED, TRACIN, fresh, row, rows

from spanfluence.report import render_terminal, render_text
from spanfluence.report.terminal import BLUE, ORANGE, _highlight, _lightness


def printed(explanation, *, width=100, colour=None, **options) -> str:
    console = Console(
        width=width,
        file=io.StringIO(),
        color_system=colour,
        force_terminal=colour is not None,
        force_jupyter=False,
        _environ={},
    )
    console.print(render_terminal(explanation, **options))
    return console.file.getvalue()


def words_of(text: str) -> str:
    return " ".join(text.split())


def text_column(shown: str) -> str:
    """The text column of the first table, its lines joined."""
    lines = shown.splitlines()
    header = next(i for i, line in enumerate(lines) if line.split()[:2] == ["#", "score"])
    column = lines[header].index(" text") + 1
    end = lines.index("", header)
    return words_of(" ".join(line[column:] for line in lines[header + 2 : end]))


def test_question_prediction_flag_and_importance():
    text = render_text(PLANTED)
    assert text.startswith("Why does the model call “service” negative here?")
    assert re.search(r"negative +━+ +0\.91", text)
    assert "the given label is positive" in text
    assert "“when we were there”: masking it lowers the negative logit by 3.21" in text
    assert f"warm and attentive «{PHRASE}»." in text


def test_a_right_prediction_is_not_flagged():
    assert "given label" not in render_text(GOOD)


@pytest.mark.parametrize("explanation", [GOOD, PLANTED, TRACIN])
def test_every_row_shows_rank_score_label_id_and_its_span_in_marks(explanation):
    text = printed(explanation, width=240)
    for each in rows(explanation):
        shown = f"{each['score']:+.3f}" if abs(each["score"]) < 1 else f"{each['score']:+.1f}"
        name = each["id"] or f"unit {each['index']}"
        line = rf"{each['rank']} +{re.escape(shown)} +{each['label']} +{each['context']} +{name} "
        assert re.search(line, text), line
        if each["spans"]:
            assert f"«{each['words']}»" in text


def test_spans_are_visible_though_long_texts_are_elided():
    explanation = fresh()
    filler = "We walked along the river for a while. " * 20
    explanation["parts"][0]["supporters"] = [
        row(
            0.5, "long-1", "staff", "negative", f"{filler}Then {PHRASE} it rained. {filler}", PHRASE
        )
    ]
    text = text_column(render_text(explanation))
    assert f"«{PHRASE}» it rained." in text
    assert "… " in text
    assert text.count("river") < 6


def test_top_limits_each_list():
    text = printed(GOOD, top=2)
    assert "train-0588-c" in text
    assert "train-0322-b" not in text
    assert "train-0761-b" in text
    assert "train-0099-d" not in text


def test_markup_in_texts_labels_ids_and_notes_is_shown_as_it_is():
    explanation = fresh()
    text = "[bold]Loud[/] music :smile: [link=x]when we were there[/link]"
    explanation["parts"][0]["supporters"] = [
        row(0.5, "[red]id", "[i]c", "[/]no", text, PHRASE, note="[blink]note")
    ]
    explanation["notes"] = ["[/nothing] [bold]open"]
    shown = printed(explanation, width=200)
    for literal in (
        "[bold]Loud[/] music :smile: [link=x]«",
        "[red]id",
        "[i]c",
        "[/]no",
        "[blink]note",
    ):
        assert literal in shown
    assert "note: [/nothing] [bold]open" in shown


def test_control_characters_cannot_steer_the_terminal():
    explanation = fresh()
    hostile = f"\x1b[2J\x1b]0;title\x07 \x9b31m \u202e {PHRASE} \ud800\x7f\r\n end"
    explanation["parts"][0]["supporters"] = [
        row(0.5, "\x1b[31mid", "\x08", "neg\x1b", hostile, PHRASE, note="\x1b[5m")
    ]
    explanation["test"]["context"] = "\x1b[1m"
    explanation["notes"] = ["\x1b[41m"]
    shown = render_text(explanation)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", shown)
    assert "␛[2J" in shown
    assert f"«{PHRASE}»" in text_column(shown)
    shown.encode("utf-8")


def test_colour_tints_spans_and_leaves_out_the_marks():
    shown = printed(PLANTED, colour="truecolor")
    assert "«" not in shown
    assert re.search(r"\x1b\[1;38;2;[\d;]+48;2;[\d;]+m" + PHRASE, shown)


def test_marks_come_back_where_the_console_has_no_colour():
    assert f"«{PHRASE}»" in printed(PLANTED, colour=None)
    console = Console(
        width=100, file=io.StringIO(), color_system="truecolor", no_color=True, force_terminal=True
    )
    console.print(render_terminal(PLANTED))
    assert f"«{PHRASE}»" in console.file.getvalue()


def test_plain_can_be_forced_either_way():
    assert f"«{PHRASE}»" in printed(PLANTED, colour="truecolor", plain=True)
    assert "«" not in printed(PLANTED, colour=None, plain=False)


def test_tint_follows_importance_and_its_sign():
    weak, strong, against = fresh(), fresh(), fresh()
    for explanation, value in ((weak, 0.2), (strong, 4.0), (against, -4.0)):
        explanation["parts"][0]["importance"] = value
    grounds = [_ground(printed(each, colour="truecolor")) for each in (weak, strong, against)]
    assert _lightness(grounds[0]) > _lightness(grounds[1])
    assert int(grounds[1][5:], 16) > int(grounds[1][1:3], 16)  # blue: the label needs the span
    assert int(grounds[2][1:3], 16) > int(grounds[2][5:], 16)  # orange: it works against the label


def _ground(shown: str) -> str:
    match = re.search(r"48;2;(\d+);(\d+);(\d+)m" + PHRASE, shown)
    assert match
    return "#" + "".join(f"{int(channel):02x}" for channel in match.groups())


@pytest.mark.parametrize("rgb", [BLUE, ORANGE])
@pytest.mark.parametrize("strength", [i / 20 for i in range(21)])
def test_highlights_are_legible(rgb, strength):
    style: Style = _highlight(rgb, strength)
    lights = sorted(_lightness(colour.name) for colour in (style.color, style.bgcolor))
    assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 4.5


@pytest.mark.parametrize("width", [30, 60, 80, 100, 160])
def test_no_line_is_wider_than_the_console(width):
    for explanation in (GOOD, PLANTED):
        assert max(map(len, printed(explanation, width=width).splitlines())) <= width


def test_ids_are_folded_never_cut():
    explanation = fresh()
    explanation["parts"][0]["supporters"][0]["id"] = "0123456789abcdef-" * 3
    lines = printed(explanation, width=80).splitlines()
    assert "0123456789abcdef-" * 3 in "".join(
        piece for line in lines for piece in re.findall(r"[0-9a-f-]{10,}", line)
    )


def test_whole_text_rows_and_parts_say_so():
    shown = render_text(GOOD)
    assert "[whole text]" in words_of(shown)
    assert "whole text stands in" in words_of(shown)
    explanation = fresh()
    explanation["parts"][0].update(spans=[], importance=None)
    assert "The whole text" in render_text(explanation)
    assert "masking" not in render_text(explanation)


def test_instance_methods_speak_of_texts():
    explanation = fresh()
    explanation["settings"]["units"] = ["instance", "instance"]
    shown = render_text(explanation)
    assert "these training texts taught it this" in shown
    assert "4,242 training texts scored" in shown


def test_paper_sign_does_not_claim_support():
    explanation = fresh()
    explanation["settings"]["sign"] = "paper"
    shown = words_of(render_text(explanation))
    assert "highest scores under the paper’s sign" in shown
    assert "The signs follow the paper" in shown
    assert "taught it this" not in shown


def test_empty_lists_and_rows_without_optional_values():
    explanation = fresh()
    bare = {**explanation["parts"][0]["supporters"][0], "id": None, "context": None, "label": None}
    bare.pop("note")
    explanation["parts"][0].update(supporters=[bare], opponents=[])
    explanation["test"].update(context=None, label=None)
    shown = render_text(explanation)
    assert "Why does the model call this text negative?" in shown
    assert f"unit {bare['index']}" in shown
    assert "context" not in shown
    assert re.search(r"Opponents.*\n +none", shown)


def test_text_is_plain_100_columns_and_ends_without_blanks():
    shown = render_text(GOOD)
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 100
    assert all(line == line.rstrip() for line in shown.splitlines())
    assert shown == shown.strip()


def test_many_labels_are_cut_but_not_the_given_one():
    explanation = fresh()
    chances = {f"topic-{i}": (40 - i) / 1000 for i in range(30)}
    explanation["test"].update(probabilities=chances, prediction="topic-0", label="topic-29")
    shown = render_text(explanation)
    assert "topic-5 " in shown
    assert "topic-6 " not in shown
    assert re.search(r"topic-29 .*0\.01", shown)
    assert "and 23 less likely labels" in shown
