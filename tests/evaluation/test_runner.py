"""`evaluate`: stages, files, resuming, and bad input in one line."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import fields, replace
from types import SimpleNamespace

import benches
import pytest
from matplotlib.figure import Figure

from spanfluence import Example, Unit, scoring, train_classifier
from spanfluence.data import save_examples
from spanfluence.errors import InputError, MissingExtra
from spanfluence.evaluation import figures
from spanfluence.evaluation.figures import bar_figure, curve_figure, text_figure, wrapped
from spanfluence.evaluation.runner import (
    changed_sizes,
    chosen_methods,
    chosen_stages,
    evaluate,
    evaluate_run,
    open_bench,
)
from spanfluence.evaluation.sizes import RULES, Sizes
from spanfluence.evaluation.tables import Table, read_tables
from spanfluence.metrics import Interval
from spanfluence.spans.embedding import SentenceEncoder
from spanfluence.units import units_of


def png_size(path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def test_tables_figures_page_and_record(bench, tmp_path):
    out = tmp_path / "out"
    tables = evaluate(bench, out, ["agreement", "faithfulness"])
    assert [table.name for table in tables] == ["agreement", "curves", "faithfulness"]
    page = (out / "EVALUATION.md").read_text()
    assert "### Spearman correlation" in page
    assert "![curves](figures/curves.png)" in page
    assert png_size(out / "figures" / "curves.png")[0] > 1000
    record = json.loads((out / "run.json").read_text())
    assert record["seconds"]
    assert "torch" in record["versions"]
    with (out / "tables" / "agreement.csv").open() as stream:
        row = next(csv.DictReader(stream))
    assert float(row["Lag(2) low"]) <= float(row["Lag(2)"]) <= float(row["Lag(2) high"])


def test_what_is_done_is_not_done_again(evaluated_run, tmp_path, monkeypatch):
    first = benches.make_bench(evaluated_run, tmp_path / "out")
    before = [scored.scores for scored in first.scored]
    again = benches.make_bench(evaluated_run, tmp_path / "out")
    monkeypatch.setattr("spanfluence.evaluation.bench.all_scores", None)
    for old, new in zip(before, again.scored, strict=True):
        assert (old == new.scores).all()


def test_the_command(evaluated_run, tmp_path, monkeypatch):
    save_examples(benches.TESTS, tmp_path / "tests.jsonl")
    monkeypatch.setattr(SentenceEncoder, "load", lambda: SimpleNamespace(embed=benches.embed))
    tables = evaluate_run(
        evaluated_run,
        tmp_path / "tests.jsonl",
        tmp_path / "out",
        stages=["sanity"],
        methods=["pinpoint"],
        quick=True,
    )
    assert [table.name for table in tables] == ["sanity"]
    # A second call with another stage adds to the page.
    evaluate_run(
        evaluated_run,
        tmp_path / "tests.jsonl",
        tmp_path / "out",
        stages=["faithfulness"],
        methods=["control"],
        quick=True,
    )
    page = (tmp_path / "out" / "EVALUATION.md").read_text()
    assert "### Sanity checks" in page
    assert "### Spearman" in page


def test_a_quick_look_explains_as_many_tests_as_asked_for(evaluated_run, tmp_path, monkeypatch):
    tests = [replace(t, id=f"{t.id}-{n}") for n in range(3) for t in benches.TESTS]
    save_examples(tests, tmp_path / "tests.jsonl")
    monkeypatch.setattr(SentenceEncoder, "load", lambda: SimpleNamespace(embed=benches.embed))
    for number, (options, used) in enumerate((({}, 20), ({"explained": 25}, 25))):
        out = tmp_path / str(number)
        evaluate_run(
            evaluated_run,
            tmp_path / "tests.jsonl",
            out,
            stages=["faithfulness"],
            methods=["control"],
            quick=True,
            **options,
        )
        record = json.loads((out / "run.json").read_text())
        assert record["stages"]["faithfulness"]["explained"] == used


def test_the_page_holds_tables_of_one_model_only(evaluated_run, tmp_path):
    out = tmp_path / "out"
    bench = benches.make_bench(evaluated_run, out)
    evaluate(bench, out, ["agreement"])
    assert "figures/curves.png" in (out / "EVALUATION.md").read_text()
    evaluate(replace(bench, seed=1), out, ["sanity"])
    page = (out / "EVALUATION.md").read_text()
    assert "### Sanity checks" in page
    assert "### Semantic and label agreement" not in page
    assert "curves" not in page.split("### Time taken")[0]


def test_a_runs_own_folder_is_no_place_for_results(evaluated_run, tmp_path):
    tests = tmp_path / "tests.jsonl"
    save_examples(benches.TESTS, tests)
    before = (evaluated_run / "run.json").read_text()
    with pytest.raises(InputError, match="holds the results of another command"):
        evaluate_run(evaluated_run, tests, evaluated_run, stages=["sanity"], quick=True)
    assert (evaluated_run / "run.json").read_text() == before


def test_times_and_settings_of_all_calls_are_told(evaluated_run, tmp_path):
    out = tmp_path / "out"
    first = benches.make_bench(evaluated_run, out)
    evaluate(first, out, ["faithfulness"])
    trained = first.retrainer.logits([Unit(e) for e in benches.TRAIN], benches.TESTS[:1], 0)
    assert trained.shape[0] == 1
    later = benches.make_bench(evaluated_run, out, methods={"pinpoint": {"method": "pinpoint"}})
    evaluate(later, out, ["agreement"])
    record = json.loads((out / "run.json").read_text())
    assert set(record["stages"]) == {"faithfulness", "agreement"}
    assert "control" in record["stages"]["faithfulness"]["methods"]
    assert list(record["stages"]["agreement"]["methods"]) == ["pinpoint"]
    assert record["stages"]["agreement"]["precision"] == "float32"
    names = " ".join(record["seconds"])
    for part in ("training of the run", "scores/control", "scores-truth/span", "(1 trainings)"):
        assert part in names
    assert "| training of the run |" in (out / "EVALUATION.md").read_text()


def test_both_stages_share_the_pass_of_the_truth(bench, tmp_path, monkeypatch):
    asked = []
    original = scoring.all_scores

    def spy(classifier, train, tests, methods, **options):
        asked.append(list(methods))
        return original(classifier, train, tests, methods, **options)

    monkeypatch.setattr("spanfluence.evaluation.bench.all_scores", spy)
    evaluate(bench, tmp_path / "out", ["agreement", "faithfulness"])
    assert asked == [[*benches.METHODS, "faithful"]]


def test_tables_are_read_again_where_they_are_of_the_same_thing(tmp_path):
    rows = [{"method": "a", "x": Interval(1.0, 0.5, 1.5), "n": None}, {"method": "b", "y": 2}]
    table = Table("t", "Title", rows, ("Note.",))
    table.write(tmp_path, of="this model")
    assert read_tables(tmp_path, "this model") == {"t": table}
    assert read_tables(tmp_path, "that model") == {}
    assert read_tables(tmp_path / "none", "this model") == {}


def test_a_missing_package_is_told_before_anything_is_scored(evaluated_run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtra, match="BM25 needs the package 'bm25s'"):
        benches.make_bench(evaluated_run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_tests_without_spans(evaluated_run, tmp_path):
    with pytest.raises(InputError, match="has no spans"):
        open_bench(evaluated_run, benches.whole(benches.TESTS), tmp_path, embed=benches.embed)


def test_other_training_data_than_the_runs(evaluated_run, tmp_path):
    other = [replace(benches.TRAIN[0], label="neutral"), *benches.TRAIN[1:]]
    other[0] = replace(other[0], text="Another text.", spans=())
    with pytest.raises(InputError, match="was trained on other data"):
        open_bench(evaluated_run, benches.TESTS, tmp_path, train=other, embed=benches.embed)


def test_the_same_texts_with_other_spans_are_the_same_data(evaluated_run, tmp_path):
    bare = benches.whole(benches.TRAIN)
    bench = open_bench(evaluated_run, benches.TESTS, tmp_path, train=bare, embed=benches.embed)
    assert list(bench.train) == bare


def test_training_spans_that_the_model_does_not_read_are_left_out(tiny_folder, tmp_path):
    words = "cold soup " * 60
    half = Example(words, "negative", spans=[(0, 4), (590, 594)], id="half")
    lost = Example(words, "positive", spans=[(590, 594)], id="lost")
    train = [half, *benches.TRAIN, lost]
    settings = {"epochs": 1, "batch_size": 50}
    train_classifier(train, base=tiny_folder("bert"), out=tmp_path / "run", **settings)
    tests, out = benches.TESTS, tmp_path / "out"
    bench = open_bench(tmp_path / "run", tests, out, embed=benches.embed, methods=benches.METHODS)
    assert [len(e.spans) for e in bench.train] == [1, *(len(e.spans) for e in benches.TRAIN), 0]
    assert bench.units("span") == units_of(bench.train, "span")
    unread = replace(bench, train=train, name="unread")  # as planting may write a text longer
    for scored in (*bench.scored, *unread.scored):
        assert scored.scores.shape == (len(bench.tests), len(scored.units))
        assert len(scored.units) == (42 if scored.name == "tracinf" else len(bench.units("span")))


def test_tests_whose_spans_the_model_does_not_read_are_left_out(evaluated_run, tmp_path):
    words = "cold soup " * 60
    half = Example(words, "negative", spans=[(0, 4), (590, 594)], id="half")
    lost = Example(words, "positive", spans=[(590, 594)], id="lost")
    said: list[str] = []
    options = {"embed": benches.embed, "methods": benches.METHODS, "say": said.append}
    tests = [half, benches.TESTS[0], lost]
    bench = open_bench(evaluated_run, tests, tmp_path, sizes=benches.SIZES, **options)
    assert [test.id for test in bench.tests] == ["half", benches.TESTS[0].id]
    assert bench.tests[0].spans == half.spans[:1]
    assert len(bench.held_out) == 3
    assert said == ["1 of 3 tests are left out: the model does not read their spans"]
    evaluate(bench, tmp_path, ["agreement"])
    with pytest.raises(InputError, match="the model reads no span of the 1 tests"):
        open_bench(evaluated_run, [lost], tmp_path, **options)


def test_names_that_are_none():
    with pytest.raises(InputError, match="no stage 'agrement': use agreement"):
        chosen_stages(["agrement"])
    with pytest.raises(InputError, match="no method 'tracin3' to evaluate"):
        chosen_methods(["tracin3"])
    assert chosen_stages(["lds", "agreement"]) == ["agreement", "lds"]
    assert list(chosen_methods(["pinpoint"])) == ["pinpoint"]


def test_a_method_with_other_columns():
    name = "pinpoint, points=checkpoints, scale=none"
    expected = {"method": "pinpoint", "points": "checkpoints", "scale": "none"}
    assert chosen_methods([name]) == {name: expected}
    with pytest.raises(InputError, match="changes 'pionts', which is no column: use points,"):
        chosen_methods(["pinpoint, pionts=final"])
    with pytest.raises(InputError, match="points='all' is not known"):
        chosen_methods(["pinpoint, points=all"])
    with pytest.raises(InputError, match="scale='' is not known"):
        chosen_methods(["pinpoint, scale"])


def test_quick_sizes_are_small():
    quick = Sizes.quick(seeds=2)
    assert quick.seeds == 2
    assert quick.subsets < Sizes().subsets >= 60
    assert len(Sizes().triggers) >= 8


def test_sizes_are_changed_by_name():
    sizes = changed_sizes(Sizes(), ["seeds=2", "rates=[0.01]", "removal_train=null", "triggers=3"])
    assert (sizes.seeds, sizes.rates, len(sizes.triggers)) == (2, (0.01,), 3)
    assert changed_sizes(sizes, ['triggers=["honestly"]']).triggers[0].name == "honestly"
    for change, message in (
        ("seed=2", "no size 'seed': use curve"),
        ("seeds=x", "write seeds=3"),
        ('triggers=["x"]', "use a number from 1 to 10 or a list of names"),
    ):
        with pytest.raises(InputError, match=message):
            changed_sizes(Sizes(), [change])


@pytest.mark.parametrize(
    "change",
    [
        "ks=5", "ks=[]", 'ks=["a"]', "ks=[0]", "curve=[1.5]", "shares=[2]", "shares=0.2", "seeds=0",
        'seeds="a"', "seeds=true", "seeds=null", "repetitions=0", "faithful_tests=-3",
        "removal_train=0", "small_train=2.5", "small_tests=0", "subsets=-3", "subsets=1",
        "planted_train=2.5", "planted_tests=0", "planted_seeds=0", "triggers=0", "triggers=11",
        "triggers=null", "triggers=true", 'triggers={"a":1}', "triggers=[]", "triggers=[[1]]",
        "triggers=1.5", "rates=[]", "rates=[NaN]", "flips=[0]", "flips=[1.5]",
    ],
)  # fmt: skip
def test_a_size_that_cannot_be_is_told_in_one_line(change):
    name = change.split("=")[0]
    with pytest.raises(InputError, match=f"^{name}=") as raised:
        changed_sizes(Sizes(), [change])
    assert "\n" not in str(raised.value)


def test_every_size_has_a_rule():
    assert set(RULES) == {field.name for field in fields(Sizes)}


def test_markdown_and_csv():
    rows = [{"method": "a|b", "x": Interval(1.0, 0.5, 1.5)}, {"method": "c", "y": None, "n": 3}]
    table = Table("t", "Title", rows, ("Note.",))
    assert table.markdown().splitlines() == [
        "### Title", "", "| method | x | y | n |", "| --- | --- | --- | --- |",
        "| a\\|b | 1.00 [0.50, 1.50] |  |  |", "| c |  |  | 3 |", "", "Note.",
    ]  # fmt: skip
    assert table.csv().splitlines() == ["method,x,x low,x high,y,n", "a|b,1.0,0.5,1.5,,", "c,,,,,3"]


def test_texts_are_wrapped_with_their_bold_parts():
    assert wrapped(r"the **soup was** cold\_ish", 10) == [
        [("the", False), (" ", False), ("soup", True)],
        [("was", True)],
        [("cold_ish", False)],
    ]
    assert wrapped(r"2 \*\* 3") == [[("2", False), (" **", False), (" 3", False)]]
    assert wrapped("") == [[]]


def test_texts_as_a_picture(tmp_path):
    rows = [(f"method {i}", "$9 and **a span_** of $8^ more words " * 5) for i in range(9)]
    text_figure("A **test** of it", rows, tmp_path / "t.png")
    assert png_size(tmp_path / "t.png") > (800, 400)


def test_lines_with_intervals_have_a_band(tmp_path):
    rows = [
        {"method": "a", "K": k, "Sag": Interval(k, k - 1, k + 1), "Lag": float(k)} for k in (1, 2)
    ]
    panel = Figure().subplots()
    figures._curves(panel, Table("c", "C", rows), "Sag", "a")
    (band,) = panel.collections
    assert band.get_datalim(panel.transData).intervaly.tolist() == [0, 3]
    assert panel.lines[0].get_ydata().tolist() == [1, 2]
    plain = Figure().subplots()
    figures._curves(plain, Table("c", "C", rows), "Lag", "a")
    assert not plain.collections


def test_figures(tmp_path):
    rows = [{"method": m, "K": k, "Sag": k, "Lag": -k} for m in "abcdefghij" for k in (1, 10, 100)]
    curve_figure(Table("c", "C", rows), ("Sag", "Lag"), "abcdefghij", tmp_path / "c.png")
    bars = [{"method": f"m{i}", "v": Interval(i, i - 1, i + 1), "w": 2.0} for i in range(12)]
    bar_figure(Table("b", "Bars", bars), ("v", "w"), tmp_path / "b.png")
    assert png_size(tmp_path / "c.png") > (800, 400)
    assert png_size(tmp_path / "b.png") > (800, 400)
