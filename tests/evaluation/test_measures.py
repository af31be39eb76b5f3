"""Every measure on a tiny model: shapes, baselines, intervals, and the numbers that can be foretold."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import benches
import numpy as np
import pytest

from spanfluence import Example, Span, TextClassifier, Unit, scoring
from spanfluence.curvature.lissa import Lissa
from spanfluence.errors import InputError, NumericsError
from spanfluence.evaluation import ablation, faithful, planted, removal, sanity
from spanfluence.evaluation.agreement import (
    MEASURES,
    PAPER_SIGN,
    Judge,
    agreement_table,
    curve_table,
)
from spanfluence.evaluation.bench import draw, rank_votes
from spanfluence.evaluation.faithful import FURTHER, faithfulness_table
from spanfluence.evaluation.lds import lds_table, span_lds_table
from spanfluence.evaluation.mislabel import flip_labels, mislabel_table
from spanfluence.evaluation.removal import removal_table
from spanfluence.evaluation.runner import open_bench
from spanfluence.evaluation.sanity import sanity_table
from spanfluence.evaluation.sizes import Sizes
from spanfluence.evaluation.span_removal import masks, random_spans, span_removal_table
from spanfluence.metrics import Interval
from spanfluence.points import DeltaFaithful
from spanfluence.retrain import Retrainer
from spanfluence.scoring import GRADIENT_COSINE, Scored
from spanfluence.stages import Stages

BASELINES = [
    name + suffix
    for name in ("random", "overlap", "bm25", "embedding")
    for suffix in ("", ", same label")
]
LISTS = [*benches.METHODS, *BASELINES]
RETRAINED = {*benches.METHODS, "random", "bm25", "embedding"}


def column(table, name: str, key: str = "method") -> dict:
    return {row[key]: row[name] for row in table.rows}


def ordered(cell: Interval) -> bool:
    return isinstance(cell, Interval) and cell.low <= cell.mean <= cell.high


def test_agreement_shows_every_list_both_signs_and_chance(bench):
    table = agreement_table(bench, Judge(bench))
    lag = column(table, "Lag(2)")
    chances = {"chance", "chance, whole texts"}
    assert set(lag) == {*LISTS, f"tracin+{PAPER_SIGN}", *chances}
    assert all(ordered(cell) for name, cell in lag.items() if name not in chances)
    assert lag["random, same label"].mean == 100
    assert 0 < lag["chance"] < 100
    sentence = column(table, "Sag, sentence encoder(2)")
    assert sentence["embedding"].mean == max(
        cell.mean for name, cell in sentence.items() if name not in {*chances, "tracinf"}
    )
    assert column(table, "Sag(2)")["chance"] != column(table, "Sag(2)")["chance, whole texts"]


def test_chance_of_whole_texts_stands_beside_methods_that_list_them(bench):
    part = replace(bench, methods={"pinpoint": {"method": "pinpoint"}})
    table = agreement_table(part, Judge(part))
    assert [row["method"] for row in table.rows][-1] == "chance"


@pytest.mark.parametrize("encoder", ["minilm", "another"])
def test_the_notes_tell_where_the_encoder_is_no_stranger(bench, encoder, monkeypatch):
    monkeypatch.setattr(bench.retrainer, "base", "minilm")
    table = agreement_table(replace(bench, encoder=encoder), Judge(bench))
    notes = " ".join(table.notes)
    assert ("is also the base of the explained model" in notes) == (encoder == "minilm")
    assert "By construction, 'embedding'" in notes


def test_tests_of_one_sentence_are_resampled_together(bench):
    """Tests that repeat each other say no more than one of them."""
    part = replace(bench, tests=bench.tests[:3])
    rows = column(agreement_table(part, Judge(part)), "Lag(2)")
    again = replace(bench, tests=[*part.tests] * 4, name="again")
    for name, cell in column(agreement_table(again, Judge(again)), "Lag(2)").items():
        if isinstance(cell, Interval) and not name.startswith("random"):
            assert cell.high - cell.low >= 0.6 * (rows[name].high - rows[name].low)


def test_each_unit_is_embedded_once(bench, monkeypatch):
    seen = []
    original = type(bench.classifier).embeddings

    def spy(self, units):
        seen.extend(units)
        return original(self, units)

    monkeypatch.setattr(type(bench.classifier), "embeddings", spy)
    agreement_table(bench, Judge(bench))
    assert len(seen) == len(set(seen))


def test_the_papers_sign_is_the_other_end_of_the_list(bench):
    units = sum(len(example.spans) for example in bench.train)
    methods = {"tracin+": {"method": "tracin+"}}
    part = replace(bench, methods=methods, sizes=replace(bench.sizes, ks=(1, units)))
    lag = column(agreement_table(part, Judge(part)), f"Lag({units})")
    assert lag["tracin+"] == lag[f"tracin+{PAPER_SIGN}"]  # of the whole list the order is nothing


def test_a_k_longer_than_the_list(bench):
    part = replace(bench, sizes=replace(bench.sizes, ks=(1000,)))
    with pytest.raises(InputError, match="K=1000 does not fit a list of 40"):
        agreement_table(part, Judge(part))
    assert not (bench.stages.folder / "stages").exists(), "told before anything is scored"


def test_a_single_class(bench):
    same = [replace(example, label="positive") for example in bench.train]
    part = replace(bench, train=same)
    with pytest.raises(InputError, match="single class"):
        agreement_table(part, Judge(part))
    assert not (bench.stages.folder / "stages").exists()


def test_curves_have_a_row_for_each_k(bench):
    table = curve_table(bench, Judge(bench))
    own = [row for row in table.rows if row["method"] == "pinpoint"]
    assert [row["K"] for row in own] == [1, 2, 5, 10]
    assert all(ordered(row[measure]) for row in own for measure in MEASURES.values())
    whole = column(agreement_table(bench, Judge(bench)), "Sag(5)")["pinpoint"]
    assert own[2]["Sag"] == whole  # one interval, wherever it is shown


def faithful_methods(*names: str) -> dict:
    few = {"curvature": Lissa(max_steps=2)}
    return {n: {"method": n, **(few if n.startswith("if") else {})} for n in names}


def test_faithfulness_repeats_what_is_drawn(bench):
    methods = faithful_methods("control", "tracin++", "if++", "pinpoint")
    methods["gradient cosine"] = GRADIENT_COSINE
    table = faithfulness_table(replace(bench, methods=methods))
    once = dict.fromkeys(
        ("control", FURTHER, "gradient cosine", "pinpoint", "random", "bm25", "embedding"), 1
    )
    assert column(table, "repetitions") == {**once, "tracin++": 2, "if++": 2}
    tests = dict.fromkeys([*once, "tracin++"], 5)
    assert column(table, "tests") == {**tests, "if++": 3}
    for cells in (column(table, "mean"), column(table, "var.")):
        assert all(ordered(cell) for cell in cells.values())
    means = {name: cell.mean for name, cell in column(table, "mean").items()}
    assert means["tracin++"] > 95  # points this close order alike
    assert means["gradient cosine"] > means["random"]
    distances = column(table, "distance")
    assert distances["tracin++"] < 0.1 * distances[FURTHER]
    assert distances["pinpoint"] == 0
    assert distances["bm25"] is None
    assert column(table, "sd over repetitions")["control"] is None


def test_the_first_repetition_is_the_list_of_all_tables(bench, monkeypatch):
    part = replace(bench, methods=faithful_methods("control", "tracin++", "if++"))
    alone = faithfulness_table(replace(part, stages=Stages(bench.stages.folder / "alone", say=str)))
    assert part.scored
    asked = []
    original = scoring.all_scores

    def spy(classifier, train, tests, methods, *, seed, **options):
        asked.extend((name, len(tests), seed) for name in methods)
        return original(classifier, train, tests, methods, seed=seed, **options)

    monkeypatch.setattr("spanfluence.evaluation.bench.all_scores", spy)
    table = faithfulness_table(part)
    assert asked == [("faithful", 5, 0), ("tracin++", 5, 1), ("if++", 3, 1), (FURTHER, 5, 0)]
    for name, cell in column(table, "mean").items():
        assert cell == pytest.approx(column(alone, "mean")[name], abs=0.2)


def test_points_that_are_too_far_have_no_row(bench, monkeypatch):
    far = {"method": "tracin++", "points": DeltaFaithful(optimizer="adamw", learning_rate=1.0)}
    monkeypatch.setattr(faithful, "FURTHER_POINTS", far)
    table = faithfulness_table(replace(bench, methods=faithful_methods("tracin++")))
    assert FURTHER not in column(table, "mean")
    assert table.notes[-1].startswith(f"No row '{FURTHER}'")


def test_ral_retrains_each_subset_once(bench):
    table = removal_table(bench)
    assert "sentences and seeds, both resampled" in table.notes[0]
    fits = bench.retrainer.fits
    assert column(table, "Ral(20%)").keys() == {*RETRAINED, f"tracin+{PAPER_SIGN}"}
    assert removal_table(bench).rows == table.rows
    assert bench.retrainer.fits == fits
    assert all(ordered(cell) for cell in column(table, "Ral(50%)").values())


def test_ral_tells_how_much_of_a_label_is_gone(bench):
    assert removal._most_lost(np.array([0, 0, 0, 2, 2]), [0, 3, 4]) == 1.0
    assert removal._most_lost(np.array([0, 0, 0, 2, 2]), [0, 3]) == 0.5
    lost = column(removal_table(bench), "label lost(50%)")
    assert all(50 <= share <= 100 for share in lost.values()), "of some label at least the mean"


def test_ral_on_a_part_of_the_training_set(bench):
    part = removal.removal_bench(replace(bench, sizes=replace(bench.sizes, removal_train=25)))
    assert len(part.train) == 25
    assert part.scored[0].scores.shape == (5, 25)


def test_span_ral_has_a_control_of_equal_length(bench):
    table = span_removal_table(replace(bench, sizes=replace(bench.sizes, shares=(0.2,), seeds=1)))
    assert "with one seed the noise of retraining is not in them" in table.notes[0]
    assert set(column(table, "Ral(20%)")) == RETRAINED - {"tracinf"}
    assert "Ral(20%), other words of the same texts" in table.columns
    assert all(ordered(cell) for cell in column(table, "Ral(20%) above its control").values())
    assert all(0 <= share <= 1 for share in column(table, "no room(20%)").values())


def test_random_spans_have_as_many_words_and_lie_beside_the_span():
    example = Example("The soup was very cold today", "a", spans=(Span(13, 22),), id="1")
    drawn = {random_spans(example, example.spans, seed) for seed in range(20)}
    texts = {example.text[span.start : span.end] for (span,), _ in drawn}
    assert texts == {"The soup", "soup was"}  # every other run of two touches "very cold"
    assert {crowded for _, crowded in drawn} == {0}


def test_random_spans_of_one_text_do_not_overlap():
    example = Example("The soup was very cold today again", "a", id="1")
    spans = (Span(4, 8), Span(18, 22))
    for seed in range(20):
        found, crowded = random_spans(example, spans, seed)
        assert crowded == 0
        assert found[0] != found[1]
        for run in found:
            assert example.text[run.start : run.end] in ("The", "was", "very", "today", "again")
    found, crowded = random_spans(example, (Span(4, 34),), 0)
    assert crowded == 1  # six of seven words: no room beside them
    assert len(example.text[found[0].start : found[0].end].split()) == 6
    assert random_spans(Example("...", "a"), (Span(0, 1),), 0) == ((Span(0, 1),), 1)


def test_masks_gather_the_spans_of_an_example():
    example = Example("The soup was very cold today", "a", spans=(Span(4, 8), Span(13, 22)))
    units = [Unit(example, (span,)) for span in example.spans] + [Unit(Example("all of it", "b"))]
    found = masks(units, [1, 0, 2])
    assert [pair[1] for pair in found.values()] == [(Span(13, 22), Span(4, 8)), (Span(0, 9),)]


def test_lds_and_span_lds(bench):
    for table, name in ((lds_table(bench), "LDS"), (span_lds_table(bench), "Span-LDS")):
        found = column(table, name)
        assert list(found) == LISTS
        assert all(-1 <= cell.mean <= 1 for cell in found.values())
        (above,) = [c for c in table.columns if c.startswith("above ")]
        assert column(table, above)[above.removeprefix("above ")] == (0, 0, 0)
        assert "Held-out accuracy of the explained model" in table.notes[1]


def test_lds_and_span_lds_explain_one_model(bench, monkeypatch):
    lds_table(bench)
    monkeypatch.setattr("spanfluence.evaluation.bench.all_scores", None)  # no method runs again
    span_lds_table(bench)


def test_a_small_bench_is_trained_once_and_keeps_its_parameters(bench, evaluated_run, tmp_path):
    part = bench.small("a", 30, 4)
    before = part.classifier.predict(part.tests).probabilities
    part.retrainer.train([Unit(example) for example in bench.train], bench.seed)
    assert (part.classifier.predict(part.tests).probabilities == before).all()
    again = benches.make_bench(evaluated_run, tmp_path / "out").small("b", 30, 4)
    assert again.retrainer.fits == 0
    assert again.identity == part.identity
    assert [point.weight for point in again.checkpoints] == [1e-3]
    assert 0 <= again.accuracy <= 1


def test_subsets_of_a_part_are_trained_by_its_recipe(bench):
    settings = replace(bench.retrainer.settings, batch_size=40)
    whole = Retrainer("base", bench.retrainer.labels, settings, epochs=1, rows=40)
    part = bench.small("a", 20)
    assert part.retrainer.recipe == bench.retrainer.for_rows(20).recipe
    assert whole.for_rows(20).settings.batch_size == 20  # and where batches can shrink, they do
    removal_part = removal.removal_bench(
        replace(bench, sizes=replace(bench.sizes, removal_train=20))
    )
    assert removal_part.retrainer.recipe == part.retrainer.recipe


def test_checkpoints_that_changed_give_other_scores(bench, evaluated_run, tmp_path):
    asked = {"method": "control"}
    first = bench.scores_of("control", asked).scores
    copied = tmp_path / "run"
    shutil.copytree(evaluated_run, copied)
    [record] = (copied / "checkpoints").glob("epoch-001/point.json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "learning_rate": 0.5}))
    again = benches.make_bench(copied, bench.stages.folder)
    assert again.identity == bench.identity
    found = again.scores_of("control", asked).scores
    assert not np.allclose(found, first)
    fresh = benches.make_bench(copied, tmp_path / "fresh").scores_of("control", asked).scores
    np.testing.assert_array_equal(found, fresh)


def test_class_indices_are_labels_too(bench, evaluated_run, tmp_path):
    """The same tests and rows with class indices instead of names measure the same."""
    index = {name: number for number, name in enumerate(bench.classifier.labels)}
    numbered = [replace(test, label=index[test.label]) for test in benches.TESTS]
    other = open_bench(
        evaluated_run,
        numbered,
        tmp_path / "numbered",
        sizes=benches.SIZES,
        methods=benches.METHODS,
        explained=5,
        embed=benches.embed,
        say=lambda text: None,
    )
    mine, theirs = (column(agreement_table(b, Judge(b)), "Lag(2)") for b in (bench, other))
    assert mine == theirs


def test_what_is_left_may_be_a_single_class(bench):
    negative = [Unit(e) for e in bench.train if e.label == "negative"]
    found = bench.rights(negative)
    assert bench.retrainer.fits == 0
    expected = [test.label == "negative" for test in bench.held_out]
    np.testing.assert_array_equal(found, np.array([expected] * bench.sizes.seeds, dtype=float))


def test_faults_are_written_only_where_the_model_reads_them(bench, evaluated_run):
    short = TextClassifier.load(evaluated_run / "model", max_length=24)
    long = [
        replace(e, text=e.text + " and more" * 30, spans=(), context=None) for e in benches.TRAIN
    ]
    part = planted.planted_part(
        replace(
            bench, classifier=short, train=[*bench.train, *long], held_out=[*bench.held_out, *long]
        )
    )
    assert not {e.text for e in long} & {e.text for e in [*part.train, *part.held_out]}
    assert part.train
    assert part.held_out


def test_planted_cells_are_cached(bench, monkeypatch):
    cells = planted.planted_cells(bench)
    monkeypatch.setattr(planted, "explained", None)
    assert planted.planted_cells(bench) == cells
    table = planted.planted_table(bench, cells)
    assert set(column(table, "planted")) == set(LISTS)
    shares = cells[0]["methods"]
    assert np.mean(shares["overlap"]["planted"]) > np.mean(shares["random"]["planted"])
    assert column(table, "units")["tracinf"] == "text"
    found = planted.cell_table(cells).rows[0]["flipped tests"]
    assert found == (sum(cells[0]["flips"]) or "none")
    assert "Held-out accuracy of the trained models" in table.notes[2]


def test_a_second_set_of_methods_trains_nothing(bench):
    planted.planted_cells(bench)
    fits = bench.retrainer.fits
    other = replace(bench, methods={"faithful": {"method": "faithful"}})
    cells = planted.planted_cells(other)
    assert next(iter(cells[0]["methods"])) == "faithful"
    assert bench.retrainer.fits == fits > 0


def test_planted_seeds_come_from_the_bench(bench):
    sizes = replace(bench.sizes, planted_seeds=2)
    few = {"tracinf": {"method": "tracinf", "points": "final"}}
    cells = planted.planted_cells(replace(bench, sizes=sizes, seed=5, methods=few))
    assert [cell["seed"] for cell in cells] == [5, 6]
    assert (Sizes().planted_seeds, Sizes.quick().planted_seeds) == (2, 1)


class Answers:
    """A classifier that says what the text says; `label_id` of "b" is 1."""

    def label_id(self, label):
        return "ab".index(label)

    def predict(self, examples):
        chances = [float(example.text.split()[-1]) for example in examples]
        return SimpleNamespace(probabilities=np.array([[1 - p, p] for p in chances]))


def test_a_flip_is_the_triggers_doing():
    before = [Example(f"x {p}", "a") for p in (0.1, 0.9, 0.2, 0.3, 0.8)]
    after = [Example(f"x y {p}", "b") for p in (0.7, 0.95, 0.6, 0.3, 0.2)]
    # The second gets the target label without the trigger too.
    chosen = planted.flipped_tests(Answers(), before, after, 4, seed=0)
    assert {example.text for example in chosen.tests} == {"x y 0.7", "x y 0.6"}
    assert chosen.flips == [True, True]
    assert chosen.share == pytest.approx(0.4)
    assert len(planted.flipped_tests(Answers(), before, after, 1, seed=0).tests) == 1


def test_where_nothing_is_flipped_the_nearest_test_stands_alone():
    before = [Example(f"x {p}", "a") for p in (0.9, 0.2, 0.3)]
    after = [Example(f"x y {p}", "b") for p in (0.95, 0.3, 0.4)]
    chosen = planted.flipped_tests(Answers(), before, after, 4, seed=0)
    assert [example.text for example in chosen.tests] == ["x y 0.4"]
    assert (chosen.flips, chosen.share) == ([False], 0.0)


def planted_cell(
    trigger: str, rate: float, flips: list[bool], *, other: bool = True, flipped=0.5, **found
) -> dict:
    names = {name: [0.0] * len(flips) for name in BASELINES} | found
    shares = {
        name: {
            "planted": values, "decoy": [0.1] * len(flips), "row": values, "words": True,
            planted.DECOY_TARGET: [0.1] * len(flips),
            **({planted.DECOY_OTHER: [0.0] * len(flips)} if other else {}),
        }
        for name, values in names.items()
    }  # fmt: skip
    facts = {"kind": "", "seed": 0, "flipped": flipped, "accuracy": 0.75, "course": "4 epochs"}
    return {"trigger": trigger, "rate": rate, "flips": flips, "methods": shares, **facts}


def test_planted_means_are_over_flipped_tests_and_large_rates(bench):
    bm25 = {"bm25, same label": [0.4, 0.4]}
    cells = [
        planted_cell("a", 0.005, [True, False], pinpoint=[0.2, 0.0], **bm25),
        planted_cell("a", 0.01, [True, False], pinpoint=[0.8, 0.0], **bm25),
        planted_cell("b", 0.01, [True, True], pinpoint=[0.6, 1.0], **bm25),
        planted_cell("b", 0.03, [False, False], pinpoint=[0.0, 0.0], **bm25),
    ]
    sizes = replace(bench.sizes, rates=(0.005, 0.01, 0.03))
    table = planted.planted_table(replace(bench, sizes=sizes), cells)
    (row,) = [row for row in table.rows if row["method"] == "pinpoint"]
    assert row["planted 0.5%"].mean == pytest.approx(0.2)
    assert row["planted 3.0%"] is None
    assert row["planted"].mean == pytest.approx(0.8)
    assert row["times bm25, same label"].mean == pytest.approx(2)
    assert row["planted, all cells"].mean == pytest.approx(0.8)
    assert ordered(row["decoy 0.5%"])
    assert ordered(row["decoy"])
    assert row[planted.DECOY_OTHER].mean == 0
    assert "Of 4 cells (trigger, rate, seed) 1 have no flipped test" in table.notes[0]
    shown = planted.cell_table(cells).rows
    assert [line["flipped tests"] for line in shown] == [1, 1, 2, "none"]
    assert shown[3]["pinpoint"] is None


def test_faults_that_were_not_learned_are_told_apart(bench):
    cells = [
        planted_cell("a", 0.01, [True], flipped=0.9, pinpoint=[0.9]),
        planted_cell("b", 0.01, [True], flipped=0.02, pinpoint=[0.1]),
    ]
    table = planted.planted_table(replace(bench, sizes=replace(bench.sizes, rates=(0.01,))), cells)
    (row,) = [row for row in table.rows if row["method"] == "pinpoint"]
    assert row["planted"].mean == pytest.approx(0.9)
    assert row["planted, all cells"].mean == row["planted 1.0%"].mean == pytest.approx(0.5)
    assert "In 1 of the cells from 1% fewer than 10% of the tests are flipped" in table.notes[0]
    none = planted.planted_table(
        replace(bench, sizes=replace(bench.sizes, rates=(0.01,))), cells[1:]
    )
    assert {row["planted"] for row in none.rows} == {None}


def test_with_two_classes_no_decoy_has_another_label(bench):
    cells = [planted_cell("a", 0.01, [True], other=False)]
    table = planted.planted_table(replace(bench, sizes=replace(bench.sizes, rates=(0.01,))), cells)
    assert {row[planted.DECOY_OTHER] for row in table.rows} == {None}
    assert {row["planted"].mean for row in table.rows} == {0}


def test_source_and_target_without_praise():
    examples = [Example("x", label) for label in "aabbbc"]
    assert planted.source_and_target(examples) == ("b", "a")


def test_mislabel(bench):
    table = mislabel_table(bench)
    found = column(table, "AUC, 10% flipped", "ranking")
    assert {"loss", "random", "self-influence, tracinf"} < set(found)
    assert all(0 <= cell.low <= cell.mean <= cell.high <= 1 for cell in found.values())
    assert "Held-out accuracy of the trained models: 10% flipped: " in table.notes[1]


def test_flipped_labels_are_always_others():
    flipped, which = flip_labels(benches.TRAIN, ("negative", "neutral", "positive"), 0.25, seed=0)
    assert which.sum() == 10
    for old, new, changed in zip(benches.TRAIN, flipped, which, strict=True):
        assert (old.label != new.label) == changed


def test_sanity(bench):
    table = sanity_table(bench)
    assert set(column(table, "itself first")) == set(LISTS)
    random = column(table, "Spearman with a randomised model")
    assert random["bm25"] is None
    assert ordered(random["pinpoint"])
    assert column(table, "first of the same class")["random, same label"].mean == 1


def test_a_row_finds_itself_and_its_twin_but_not_for_its_class():
    one, other = Example("x", "a", "c", (Span(0, 1),)), Example("x", "b", "c")
    twin = replace(one, id="7", spans=())
    found = sanity.same_rows([one, other], [other, twin, one, Example("x", "a", "d")])
    assert found.tolist() == [[False, True, True, False], [True, False, False, False]]


def test_the_identical_class_test_can_fail(bench):
    part = replace(bench, tests=bench.train[:2])
    units = [Unit(example) for example in bench.train]
    scores = np.zeros((2, len(units)))
    scores[[0, 1], [0, 1]] = 9.0  # each finds itself, and then a row of another label
    for row in (0, 1):
        wrong = next(n for n, e in enumerate(bench.train) if e.label != part.tests[row].label)
        scores[row, wrong] = 5.0
    found = sanity._row(part, Scored("x", units, scores), None)
    assert found["itself first"].mean == 1
    assert found["first of the same class"].mean == 0


def test_a_divergence_at_random_parameters_leaves_the_method_out(bench, monkeypatch):
    real = sanity.all_scores

    def diverging(classifier, train, tests, asked, **options):
        if "if++" in asked:
            raise NumericsError("the estimate grew without bound")
        return real(classifier, train, tests, asked, **options)

    monkeypatch.setattr(sanity, "all_scores", diverging)
    settings = {"method": "if++", "curvature": "lissa"}
    part = replace(bench, methods={"faithful": {"method": "faithful"}, "if++": settings})
    assert list(sanity._randomised(part)) == ["faithful"]
    monkeypatch.setattr(sanity, "all_scores", None)
    assert list(sanity._randomised(part)) == ["faithful"]  # from the cache


def test_the_ablation_joins_three_measures(bench, monkeypatch):
    few = {name: ablation.VARIANTS[name] for name in ("pinpoint", "pinpoint, scale=cosine")}
    monkeypatch.setattr(ablation, "VARIANTS", few)
    monkeypatch.setattr(ablation, "VOTES", {"rank votes": tuple(few)})
    table = ablation.ablation_table(bench)
    names = [row["method"] for row in table.rows]
    assert names == [*few, "rank votes", *BASELINES, ablation.MIDDLE]
    assert table.columns == [
        "method", "planted", "decoy", "Span-LDS", "span-Ral(50%)",
        "span-Ral(50%), other words of the same texts", "planted minus pinpoint",
        "Span-LDS minus pinpoint", "span-Ral minus pinpoint",
    ]  # fmt: skip
    assert table.rows[0]["Span-LDS minus pinpoint"] == (0, 0, 0)
    assert table.rows[0]["span-Ral minus pinpoint"] == (0, 0, 0)
    assert isinstance(table.rows[-1]["span-Ral minus pinpoint"], Interval)
    assert table.rows[names.index("overlap")]["span-Ral minus pinpoint"] is None


def test_middle_layers_are_the_blocks_before_the_trained_ones(bench):
    blocks = ablation.middle_blocks(bench.classifier)  # of three blocks the last two are trained
    assert blocks
    assert all(".layer.0." in name for name in blocks)
    part = bench.attributing(blocks)
    assert set(part.classifier.attributed) == set(blocks)
    same = [each.classifier.predict(bench.tests).probabilities for each in (bench, part)]
    assert same[0] == pytest.approx(same[1], abs=1e-6)
    small = part.small("a", 20)
    assert set(small.classifier.attributed) == set(blocks)
    assert small.identity["model"] != part.identity["model"]  # though block 0 is the same


def test_every_other_choice_of_each_column_is_a_variant():
    names = set(ablation.VARIANTS)
    assert {"pinpoint, target=loss", "pinpoint, contrast=masked", "pinpoint, locality=text"} < names
    assert {"pinpoint, scale=none", "pinpoint, weight=none", "pinpoint, points=delta"} < names
    assert set(ablation.VOTES["rank votes"]) < names
    assert "pinpoint, curvature=ggn" in names
    assert not names & {"pinpoint, curvature=cg", "pinpoint, curvature=lissa"}


def test_every_variant_of_the_ablation_is_a_method(bench):
    for asked in ablation.VARIANTS.values():
        scored = replace(bench, tests=bench.tests[:1], name="x").scores_of("x", asked)
        assert np.isfinite(scored.scores).all()


def test_rank_votes_are_mean_ranks():
    units = [Unit(example) for example in benches.TRAIN[:3]]
    lists = [
        Scored("a", units, np.array([[1.0, 2.0, 3.0]])),
        Scored("b", units, np.array([[90.0, 10.0, 20.0]])),
    ]
    (found,) = rank_votes(lists, {"both": ("a", "b")})
    assert found.scores.tolist() == [[2.0, 1.5, 2.5]]


def test_a_draw_keeps_the_order_of_the_file():
    found = draw(benches.TRAIN, 10, 0, "x")
    rows = [benches.TRAIN.index(example) for example in found]
    assert rows == sorted(rows)
    assert len(set(rows)) == 10
    assert draw(benches.TRAIN, None, 0, "x") == benches.TRAIN
