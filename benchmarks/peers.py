"""`tracin++` by every tool: times, the share of the machine's limit, and whether the scores agree."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import ours
from flops import necessary_flops
from own_process import OwnProcess
from products import products_alone
from recompute import recompute_per_test, reference_scores
from report import Time
from rounds import Rounds, Run
from timing import Agreement, Timed, agreement, scaled, timed
from workload import Workload

BATCHES = (8, 16, 32, 64)
Scores = Callable[..., np.ndarray]


def peers(run: Run) -> None:
    """`tracin++` at all points, by every tool; and the share of the machine's limit."""
    rounds = Rounds(run)
    with ExitStack() as stack:
        names = ("kronfluence", "captum", "recompute per test")
        own = {name: stack.enter_context(OwnProcess(run.asked)) for name in names}
        _take_turns(run, rounds, own)
    _peer_rows(run, rounds)
    _limit_rows(run, rounds)
    _bound_rows(run, rounds)
    _agreement_rows(run, rounds)


def _take_turns(run: Run, rounds: Rounds, own: dict[str, OwnProcess]) -> None:
    from captum_peer import tracincp_scores
    from kronfluence_peer import identity_scores

    asked, work = run.asked, run.work
    total = len(work.train)
    kronfluence = _with_best_batch(
        run, own["kronfluence"], "kronfluence", identity_scores, asked.kronfluence_spans
    )
    one_by_one = _with_best_batch(
        run, own["captum"], "captum", partial(tracincp_scores, batched=False), asked.captum_spans
    )
    batched = _with_best_batch(
        run, own["captum"], "captum, batched", tracincp_scores, asked.captum_spans
    )
    ours.tracin(work.few(64))  # warm, as the peers are
    for number in range(asked.repeats):
        run.gemm.measure()
        spans = [(number * asked.recompute_spans + i) % total for i in range(asked.recompute_spans)]
        test = number % len(work.tests)
        jobs: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
            ("kronfluence", _scaled_scores, (kronfluence, asked.kronfluence_spans)),
            ("captum", _scaled_scores, (one_by_one, asked.captum_spans)),
            ("captum, batched", _scaled_scores, (batched, asked.captum_spans)),
            ("recompute per test", recompute_per_test, (test, spans)),
        )
        before = _ours(rounds)
        for tool, job, given in jobs:
            found = own[tool.partition(",")[0]].run(job, *given)
            after = _ours(rounds)
            rounds.between(tool, found, before, after)
            before = after
        rounds.note("spanfluence, one point", ours.tracin(work, work.points[:1]))


def _ours(rounds: Rounds) -> Timed:
    found = ours.tracin(rounds.run.work)
    rounds.note("spanfluence", found)
    return found


def _scaled_scores(work: Workload, scores: Scores, spans: int) -> Timed:
    """A peer on some of the spans."""
    return scaled(lambda n: scores(work.few(n)), spans, len(work.train))


def _with_best_batch(run: Run, own: OwnProcess, peer: str, scores: Scores, spans: int) -> Scores:
    """A peer with the batch size that serves it best on the spans it is timed on."""
    own.run(_warm_up, scores)
    if run.asked.batch:
        run.batches[peer] = run.asked.batch
    else:
        trials = {size: own.run(_trial, scores, size, spans) for size in BATCHES}
        run.batches[peer] = min(trials, key=trials.__getitem__)
        run.say(f"{peer}: " + ", ".join(f"batch {n}: {s:.1f} s" for n, s in trials.items()))
    run.results.facts[f"batch of {peer}"] = f"{run.batches[peer]} texts"
    return partial(scores, batch_size=run.batches[peer])


def _warm_up(work: Workload, scores: Scores) -> None:
    """A new process imports, and is slow at first; what a run on one span takes is counted as fixed."""
    scores(work.few(1), batch_size=2)


def _trial(work: Workload, scores: Scores, size: int, spans: int) -> float:
    """Seconds of a peer at one point with batches of a size."""
    part = work.few(spans)
    part.__dict__["points"] = work.points[:1]
    return timed(lambda: scores(part, batch_size=size)).seconds


def _peer_rows(run: Run, rounds: Rounds) -> None:
    points = len(run.work.points)
    job = f"tracin++ at {points} points, {len(run.work.tests)} tests x {len(run.work.train)} spans"
    bars = {
        "kronfluence": 5.0,
        "captum": 15.0,
        "captum, batched": None,  # not what its users get; shown for fairness
        "recompute per test": 100.0,
    }
    for tool in ("spanfluence", *bars):
        found = rounds.last[tool]
        run.results.times.append(Time(job, tool, rounds.seconds(tool), found.measured))
    for tool, bar in bars.items():
        name = f"`tracin++`, {points} points, cold: faster than {tool}"
        ratio = rounds.ratio_between(tool)
        note = "" if rounds.last[tool].measured == "all" else rounds.last[tool].measured
        if bar is None:
            run.results.plain(name, ratio, f"{ratio:.3g}x", note)
        else:
            run.results.at_least(name, ratio, bar, note=note)


def _limit_rows(run: Run, rounds: Rounds) -> None:
    run.gemm.measure()
    rate = run.gemm.median
    run.results.facts["matrix products"] = f"{rate / 1e9:.0f} GFLOP/s (float32, median of the run)"
    for points, tool in ((len(run.work.points), "spanfluence"), (1, "spanfluence, one point")):
        flops = necessary_flops(run.work, points)
        share = flops / rate / rounds.seconds(tool)
        run.results.at_least(
            f"share of the limit, {points} point{'s' if points > 1 else ''}",
            share,
            0.45,
            unit="%",
            note=f"{flops / 1e9 / len(run.work.train):.2f} necessary GFLOP per span, "
            f"{1e3 * rounds.seconds(tool) / len(run.work.train):.1f} ms",
        )


def _bound_rows(run: Run, rounds: Rounds) -> None:
    """How far the way we take could go: its matrix products alone, as if all else were free."""
    alone = products_alone(lambda: ours.tracin(run.work))
    share = alone / rounds.seconds("spanfluence")
    name = f"our matrix products alone, in their own shapes, {len(run.work.points)} points"
    run.results.plain(name, alone, f"{alone:.1f} s, {100 * share:.0f} % of all our time")
    most = rounds.seconds("kronfluence") / alone
    run.results.plain("... faster than kronfluence if all else were free", most, f"{most:.3g}x")


def _agreement_rows(run: Run, rounds: Rounds) -> None:
    mine = rounds.last["spanfluence"].scores
    for tool in ("kronfluence", "captum", "captum, batched"):
        theirs = rounds.last[tool].scores
        _agreement(run, tool, agreement(mine[:, : theirs.shape[1]], theirs))
    some = run.work.few(run.asked.reference_spans)
    some = replace(some, tests=some.tests[: run.asked.reference_tests])
    some.__dict__["points"] = run.work.points
    run.say("checking against plain autograd ...")
    reference = reference_scores(some)
    size = reference.shape
    _agreement(run, "plain autograd", agreement(mine[: size[0], : size[1]], reference))


def _agreement(run: Run, tool: str, found: Agreement) -> None:
    run.say(f"agreement with {tool}: {found}")
    name = f"agreement with {tool}"
    run.results.at_most(f"{name}: error / largest score", found.error, 1e-4, unit="error")
    run.results.at_least(f"{name}: rank correlation", found.spearman, 0.9999, unit="rank")
