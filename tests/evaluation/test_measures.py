"""Every measure on a tiny model: shapes, baselines, intervals, and the numbers that can be foretold."""

from __future__ import annotations

from dataclasses import replace

import benches
import numpy as np
import pytest

from spanfluence import Example, Span, Unit, scoring
from spanfluence.curvature.lissa import Lissa
from spanfluence.errors import InputError
from spanfluence.evaluation import ablation, faithful, planted, removal
from spanfluence.evaluation.agreement import PAPER_SIGN, Judge, agreement_table, curve_table
from spanfluence.evaluation.bench import draw, rank_votes
from spanfluence.evaluation.faithful import FURTHER, faithfulness_table
from spanfluence.evaluation.lds import lds_table, span_lds_table
from spanfluence.evaluation.mislabel import flip_labels, mislabel_table
from spanfluence.evaluation.removal import removal_table
from spanfluence.evaluation.sanity import sanity_table
from spanfluence.evaluation.span_removal import masks, random_spans, span_removal_table
from spanfluence.metrics import Interval
from spanfluence.points import DeltaFaithful
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
    assert [row["K"] for row in table.rows if row["method"] == "pinpoint"] == [1, 2, 5, 10]


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
    assert all(ordered(cell) for cell in column(table, "mean").values())
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
    fits = bench.retrainer.fits
    assert column(table, "Ral(20%)").keys() == {*RETRAINED, f"tracin+{PAPER_SIGN}"}
    assert removal_table(bench).rows == table.rows
    assert bench.retrainer.fits == fits
    assert all(ordered(cell) for cell in column(table, "Ral(50%)").values())


def test_ral_on_a_part_of_the_training_set(bench):
    part = removal.removal_bench(replace(bench, sizes=replace(bench.sizes, removal_train=25)))
    assert len(part.train) == 25
    assert part.scored[0].scores.shape == (5, 25)


def test_span_ral_has_a_control_of_equal_length(bench):
    table = span_removal_table(replace(bench, sizes=replace(bench.sizes, shares=(0.2,), seeds=1)))
    assert set(column(table, "Ral(20%)")) == RETRAINED - {"tracinf"}
    assert "Ral(20%), other words of the same texts" in table.columns


def test_random_spans_have_as_many_words():
    example = Example("The soup was very cold today", "a", spans=(Span(13, 22),), id="1")
    for seed in range(20):
        (found,) = random_spans(example, example.spans, seed)
        assert len(example.text[found.start : found.end].split()) == 2
    assert len({random_spans(example, example.spans, seed) for seed in range(20)}) > 2


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


def test_planted_cells_are_cached(bench, monkeypatch):
    cells = planted.planted_cells(bench)
    monkeypatch.setattr(planted, "_cell", None)
    assert planted.planted_cells(bench) == cells
    table = planted.planted_table(bench, cells)
    found = column(table, "planted, all rates")
    assert set(found) == set(LISTS)
    assert found["overlap"].mean > found["random"].mean  # words find the phrase
    assert column(table, "units")["tracinf"] == "text"
    assert planted.cell_table(cells).rows[0]["tests"] == 3


def test_source_and_target_without_praise():
    examples = [Example("x", label) for label in "aabbbc"]
    assert planted.source_and_target(examples) == ("b", "a")


def test_mislabel(bench):
    table = mislabel_table(bench)
    found = column(table, "AUC, 10% flipped", "ranking")
    assert {"loss", "random", "self-influence, tracinf"} < set(found)
    assert all(0 <= cell.low <= cell.mean <= cell.high <= 1 for cell in found.values())


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


def test_the_ablation_joins_three_measures(bench, monkeypatch):
    few = {name: ablation.VARIANTS[name] for name in ("pinpoint", "pinpoint, scale=cosine")}
    monkeypatch.setattr(ablation, "VARIANTS", few)
    monkeypatch.setattr(ablation, "VOTES", {"rank votes": tuple(few)})
    table = ablation.ablation_table(bench)
    assert [row["method"] for row in table.rows] == [*few, "rank votes", *BASELINES]
    assert table.columns == [
        "method", "planted, all rates", "decoy, all rates", "Span-LDS", "span-Ral(50%)",
    ]  # fmt: skip


def test_every_other_choice_of_each_column_is_a_variant():
    names = set(ablation.VARIANTS)
    assert {"pinpoint, target=loss", "pinpoint, contrast=masked", "pinpoint, locality=text"} < names
    assert {"pinpoint, scale=none", "pinpoint, weight=none", "pinpoint, points=delta"} < names
    assert set(ablation.VOTES["rank votes"]) < names


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
