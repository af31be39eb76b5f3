"""What the HTML report shows, that it is well-formed, safe, self-contained and legible."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from sample import GOOD, PHRASE, PLANTED, SECTIONS, TRACIN, fresh, row, rows

import spanfluence.report
from spanfluence.methods import CHOICES
from spanfluence.report import render_explanation, render_fragment, render_page
from spanfluence.report.terminal import _lightness
from spanfluence.report.wording import IN_WORDS, importance, points, question, score_format

VOID = {"meta", "link", "br"}
EVIL = "<script>alert('x')</script> \"quoted\" & </p><img onerror=alert(1)>"


class Page(HTMLParser):
    """Collects text, tags and marks, and fails on tags that do not balance."""

    def __init__(self, html: str):
        super().__init__()
        self.open, self.tags, self.data, self.marks = [], [], [], []
        self.attributes: list[tuple[str, str]] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "mark":
            self.marks.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.data.append(data)
        if "mark" in self.open:
            self.marks[-1] += data

    @property
    def text(self) -> str:
        return "".join(self.data)

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


def everything() -> list[str]:
    return [
        render_page("A report", SECTIONS),
        *(
            render(each)
            for each in (GOOD, PLANTED, TRACIN)
            for render in (render_explanation, render_fragment)
        ),
    ]


@pytest.mark.parametrize("html", everything())
def test_well_formed_and_without_script(html):
    page = Page(html)
    assert "script" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]


@pytest.mark.parametrize("html", everything())
def test_nothing_is_requested(html):
    assert "http://" not in html
    assert "https://" not in html
    assert "src=" not in html
    assert "url(" not in html
    assert "@import" not in html
    assert not re.search(r'href="(?!data:)', html)


@pytest.mark.parametrize("explanation", [GOOD, PLANTED, TRACIN])
@pytest.mark.parametrize("render", [render_explanation, render_fragment])
def test_every_row_is_there_with_its_span_score_label_and_id(explanation, render):
    page = Page(render(explanation))
    for each in rows(explanation):
        assert each["text"] in page.text
        shown = f"{each['score']:+.3f}" if abs(each["score"]) < 1 else f"{each['score']:+.1f}"
        assert shown.replace("-", "−") in page.text
        assert (each["id"] or f"unit {each['index']}") in page.text
        assert each["label"] in page.text
        assert each["context"] in page.text
        if each["importance"] is not None:
            assert f"importance {each['importance']:.2f}".replace("-", "−") in page.text
        if each["spans"]:
            assert each["words"] in page.marks
    assert len(page.marks) == sum(bool(each["spans"]) for each in rows(explanation)) + len(
        explanation["parts"]
    )


def test_the_story_of_the_planted_error():
    page = Page(render_explanation(PLANTED))
    assert "Why does the model call “service” negative here?" in page.text
    assert "the given label is positive" in page.text
    assert "masking it lowers the negative logit by 3.21" in page.text
    assert "these training spans taught it this" in page.text
    assert "these pulled the other way" in page.text
    assert page.text.index("Supporters") < page.text.index("Opponents")
    assert "0.91" in page.text
    assert PLANTED["notes"][0] in page.text


def test_a_right_prediction_is_not_flagged():
    assert "the given label" not in Page(render_explanation(GOOD)).text


def test_how_to_read_explains_sign_method_points_and_units():
    page = Page(render_explanation(PLANTED))
    assert "details" in page.tags
    assert "How to read this" in page.text
    assert "pull the model’s parameters the same way" in page.text
    assert "cosine in each layer, averaged over layers" in page.text
    assert "test span against training span" in page.text
    assert "final: weight 1, distance 0 from the final model" in page.text
    assert "4,242 training spans scored" in page.text


def test_paper_sign_does_not_claim_support():
    explanation = fresh()
    explanation["settings"]["sign"] = "paper"
    text = Page(render_explanation(explanation)).text
    assert "The signs follow the paper" in text
    assert "taught it this" not in text
    assert "pulled the other way" not in text


@pytest.mark.parametrize("render", [render_explanation, render_fragment])
def test_all_text_is_escaped(render):
    explanation = fresh()
    explanation["method"] = explanation["notes"][0] = EVIL
    explanation["settings"]["target"] = EVIL
    explanation["points"][0]["name"] = EVIL
    test = explanation["test"]
    test.update(id=EVIL, context=EVIL, label=EVIL, prediction=EVIL, explained_label=EVIL)
    test["probabilities"] = {EVIL: 1.0}
    test["text"] = EVIL + PLANTED["test"]["text"]
    part = explanation["parts"][0]
    part.update(spans=[[0, len(EVIL)]], words=EVIL)
    part["supporters"] = [row(1, EVIL, EVIL, EVIL, EVIL, EVIL, 1.0, EVIL)]
    html = render(explanation)
    page = Page(html)
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "alert('x')" not in html
    assert page.text.count(EVIL) >= 14
    assert page.marks.count(EVIL) == 2


def test_titles_and_leads_of_a_page_are_escaped():
    page = Page(render_page(EVIL, [{"title": EVIL, "lead": EVIL, "explanations": [PLANTED]}]))
    assert "script" not in page.tags
    assert page.text.count(EVIL) == 4  # <title>, <h1>, section title, lead


def test_the_security_policy_forbids_everything_but_inline_styles():
    policy = (
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; img-src data:\">"
    )
    for html in (render_page("t", SECTIONS), render_explanation(GOOD)):
        assert policy in html
        assert html.index(policy) < html.index("<style>")


@pytest.mark.parametrize(
    ("html", "first"),
    [
        (render_page("A report", SECTIONS), 1),
        (render_explanation(GOOD), 1),
        (render_fragment(GOOD), 3),
    ],
)
def test_headings_descend_without_gaps(html, first):
    levels = [int(tag[1]) for tag in Page(html).tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == first
    assert levels.count(first) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_two_methods_on_one_test_show_it_once():
    page = Page(render_page("A report", SECTIONS[1:]))
    assert page.text.count("Why does the model call “service” negative here?") == 1
    assert page.text.count(PLANTED["test"]["text"]) == 1
    assert page.text.count("Supporters") == 2
    assert page.tags.count("article") == 2


def test_different_tests_in_one_section_keep_their_own_question():
    section = {"title": "Both", "lead": "", "explanations": [GOOD, PLANTED]}
    text = Page(render_page("A report", [section])).text
    assert "Why does the model call “service” negative here?" in text
    assert "Why does the model call “waiter” negative here?" in text


def test_a_section_without_explanations_still_makes_a_page():
    section = {"title": "Nothing", "lead": "Nobody asked.", "explanations": []}
    assert "Nobody asked." in Page(render_page("A report", [section])).text


def test_bars_are_relative_to_the_largest_score_of_the_part():
    html = render_explanation(TRACIN)
    widths = re.findall(r'sf-fill sf-(?:for|against)" style="width:([\d.]+)%', html)
    assert widths == ["100.0", "89.0", "52.8", "44.0", "18.9"]


def test_tint_follows_importance_and_negative_importance_changes_the_hue():
    html = render_explanation(GOOD)
    tints = [float(tint) for tint in re.findall(r'sf-for" style="--sf-tint:([\d.]+)"', html)]
    assert tints[0] > tints[1] > 0
    explanation = fresh()
    explanation["parts"][0]["importance"] = -0.4
    html = render_explanation(explanation)
    assert 'class="sf-mark sf-against" style="--sf-tint:0.16"' in html
    assert "masking it raises the negative logit by 0.40" in html


def test_overlapping_parts_are_both_marked():
    explanation = fresh(GOOD)
    text = explanation["test"]["text"]
    explanation["parts"][1]["spans"] = [[text.index("twenty"), len(text)]]
    marks = Page(render_explanation(explanation)).marks
    assert marks[:3] == ["took ", "twenty minutes to bring the bill", " and never once apologised."]


def test_long_texts_are_shortened_around_the_span_and_whole_in_a_fold():
    explanation = fresh()
    text = "It was a long walk. " * 40 + f"Nobody came {PHRASE}. " + "We went home. " * 40
    explanation["parts"][0]["supporters"] = [row(1.0, "long", "x", "negative", text, PHRASE)]
    html = render_explanation(explanation)
    assert text in Page(html).text
    shown = Page(re.sub('<details class="sf-whole">.*?</details>', "", html, flags=re.S))
    assert f"Nobody came {PHRASE}. We went home." in shown.text
    assert text not in shown.text


def test_whole_text_units():
    explanation = fresh()
    part = explanation["parts"][0]
    part.update(spans=[], importance=None)
    part["supporters"] = [row(1.0, "w", "x", "negative", "All of it.", None)]
    page = Page(render_explanation(explanation))
    assert "The text is explained as a whole." in page.words
    assert "whole text" in page.words
    explanation["settings"]["units"] = ["instance", "instance"]
    page = Page(render_explanation(explanation))
    assert "these training texts taught it this" in page.text
    assert "whole text" not in page.words


def test_rows_without_optional_values_and_empty_lists():
    explanation = fresh()
    bare = {**explanation["parts"][0]["supporters"][0], "id": None, "context": None}
    bare.update(label=None, importance=None)
    bare.pop("note")
    explanation["parts"][0].update(supporters=[bare], opponents=[])
    explanation["test"].update(context=None, label=None)
    page = Page(render_explanation(explanation))
    assert "None" not in page.text.replace("None.", "")
    assert f"unit {bare['index']}" in page.text
    assert "Why does the model call this text negative?" in page.text


def test_many_labels_are_cut_but_not_the_given_one():
    explanation = fresh()
    chances = {f"topic-{i}": (40 - i) / 1000 for i in range(30)}
    explanation["test"].update(
        probabilities=chances, prediction="topic-0", explained_label="topic-0", label="topic-29"
    )
    page = Page(render_explanation(explanation))
    assert "topic-5" in page.text
    assert "topic-6" not in page.text
    assert "topic-29" in page.text
    assert "and 23 less likely labels" in page.text


def test_characters_that_no_file_can_hold_are_replaced():
    explanation = fresh()
    explanation["notes"] = ["lone \ud83d surrogate, \x00 and \x1b"]
    html = render_explanation(explanation)
    html.encode("utf-8")
    assert "lone \ufffd surrogate, \ufffd and \ufffd" in html


def test_other_scripts_keep_their_direction():
    explanation = fresh()
    text = "كانت الخدمة بطيئة 🐌 عندما كنا هناك"
    explanation["parts"][0]["supporters"] = [row(1.0, "ar", "الخدمة", "negative", text, "بطيئة 🐌")]
    html = render_explanation(explanation)
    assert "بطيئة 🐌" in Page(html).marks
    assert f'dir="auto">{text[:12]}' in html


def test_the_fragment_styles_only_itself():
    html = render_fragment(GOOD)
    assert html.lstrip().startswith('<div class="sf-root')
    assert "<body" not in html
    css = re.sub(
        r"/\*.*?\*/", "", html[html.index("<style>") + 7 : html.index("</style>")], flags=re.S
    )
    depth, selectors, start = 0, [], 0
    for place, character in enumerate(css):
        if character == "{":
            if depth == 0:
                selectors.append(css[start:place].strip())
            depth += 1
        elif character == "}":
            depth -= 1
            start = place + 1
    assert depth == 0
    assert selectors == [".sf-root.sf-root.sf-root"]


def test_inputs_are_not_changed():
    before = fresh(GOOD)
    render_page("t", [{"title": "t", "lead": "l", "explanations": [GOOD, GOOD]}])
    assert before == GOOD


def _colours() -> dict[str, tuple[str, str]]:
    css = (Path(spanfluence.report.__file__).parent / "explanation.css").read_text(encoding="utf-8")
    pairs = re.findall(r"--sf-([a-z]+): light-dark\((#\w{6}), (#\w{6})\)", css)
    return {name: (light, dark) for name, light, dark in pairs}


def _contrast(one: str, other: str) -> float:
    lights = sorted((_lightness(one), _lightness(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _mixed(over: str, under: str, share: float) -> str:
    pairs = ((int(over[i : i + 2], 16), int(under[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("ground", ["paper", "card"])
def test_contrast_is_enough_in_both_themes(theme, ground):
    colours = {name: pair[theme] for name, pair in _colours().items()}
    for name in ("ink", "soft", "orange"):
        assert _contrast(colours[name], colours[ground]) >= 4.5, name
    for hue in ("blue", "orange"):
        strongest = _mixed(colours[hue], colours[ground], 0.34)
        assert _contrast(colours["ink"], strongest) >= 4.5, hue
        assert _contrast(colours[hue], colours[ground]) >= 3, hue
    assert _contrast(colours["orange"], _mixed(colours["orange"], colours["card"], 0.11)) >= 4.5
    assert _contrast(colours["ink"], colours["track"]) >= 4.5


def test_every_setting_of_every_method_has_words():
    missing = [
        (name, value)
        for name, values in CHOICES.items()
        for value in values
        if (name, value) not in IN_WORDS
    ]
    assert missing == []


def test_settings_without_words_are_shown_as_they_are():
    explanation = fresh()
    explanation["settings"].update(damping=0.25, curvature="brand-new", weight=None)
    text = Page(render_explanation(explanation)).text
    for shown in ("damping", "0.25", "brand-new"):
        assert shown in text


def test_question_when_the_given_label_is_explained():
    test = {"explained_label": "positive", "prediction": "negative", "context": "service"}
    expected = "What speaks for calling “service” positive, when the model says negative?"
    assert question(test) == expected
    assert "calling this text positive" in question({**test, "context": None})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3.214, "masking it lowers the bad logit by 3.21"),
        (-0.4, "masking it raises the bad logit by 0.40"),
        (0.001, "masking it leaves the bad logit as it is"),
        (None, None),
    ],
)
def test_importance_in_words(value, words):
    assert importance({"spans": [[0, 1]], "importance": value}, "bad") == words


@pytest.mark.parametrize(
    ("scores", "shown"),
    [
        ([0.93, -0.04], ["+0.930", "-0.040"]),
        ([41.8, -7.94], ["+41.8", "-7.9"]),
        ([12345.6, 1.0], ["+12346", "+1"]),
        ([3.2e-6, -1e-6], ["+3.20e-06", "-1.00e-06"]),
        ([2.5e7], ["+2.50e+07"]),
        ([0.0], ["+0.00"]),
        ([float("nan"), 1.0], ["+nan", "+1.00"]),
        ([], []),
    ],
)
def test_scores_share_one_format(scores, shown):
    assert [score_format(scores)(score) for score in scores] == shown


def test_points_with_and_without_distance():
    given = [
        {"name": "epoch-3", "weight": 1e-4, "distance": None},
        {"name": "final", "weight": 1.0},
    ]
    assert points({"points": given}) == ["epoch-3: weight 0.0001", "final: weight 1"]
