"""The parts of the benchmark: each measures one group of rows and adds them to the results."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median

import ours
import vhp_peer
from apart import measured_apart
from flops import necessary_flops
from recompute import recompute_per_test, reference_scores
from report import Results, Time
from timing import Agreement, GemmRate, Timed, agreement, scaled
from workload import Workload, corpus


@dataclass
class Run:
    """What the sections share."""

    asked: argparse.Namespace
    work: Workload
    results: Results
    gemm: GemmRate

    def say(self, text: str) -> None:
        """Progress, at once."""
        print(f"   {text}", flush=True)


class Rounds:
    """Times of several tools, round after round."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.times: dict[str, list[float]] = defaultdict(list)
        self.last: dict[str, Timed] = {}

    def note(self, tool: str, found: Timed) -> None:
        """One time of the present round."""
        self.times[tool].append(found.seconds)
        self.last[tool] = found
        self.run.say(f"{tool}: {found.seconds:.2f} s ({found.measured})")

    def seconds(self, tool: str) -> float:
        """Median over the rounds."""
        return median(self.times[tool])

    def ratio(self, tool: str, to: str) -> float:
        """Median over the rounds of the ratio within a round."""
        pairs = zip(self.times[tool], self.times[to], strict=True)
        return median(mine / theirs for mine, theirs in pairs)


def peers(run: Run) -> None:
    """`tracin++` at all points, by every tool; and the share of the machine's limit."""
    from captum_peer import tracincp_scores
    from kronfluence_peer import identity_scores

    asked, work, rounds = run.asked, run.work, Rounds(run)
    total, batch = len(work.train), asked.batch
    for number in range(asked.repeats):
        run.gemm.measure()
        before = ours.tracin(work)
        rounds.note(
            "kronfluence",
            scaled(lambda n: identity_scores(work.few(n), batch), asked.kronfluence_spans, total),
        )
        rounds.note(
            "captum",
            scaled(lambda n: tracincp_scores(work.few(n), batch), asked.captum_spans, total),
        )
        after = ours.tracin(work)
        spans = [(number * asked.recompute_spans + i) % total for i in range(asked.recompute_spans)]
        rounds.note("recompute per test", recompute_per_test(work, number % len(work.tests), spans))
        rounds.note("spanfluence", replace(after, seconds=(before.seconds + after.seconds) / 2))
        rounds.note("spanfluence, one point", ours.tracin(work, work.points[:1]))
    _peer_rows(run, rounds)
    _limit_rows(run, rounds)
    _agreement_rows(run, rounds)


def _peer_rows(run: Run, rounds: Rounds) -> None:
    points = len(run.work.points)
    job = f"tracin++ at {points} points, {len(run.work.tests)} tests x {len(run.work.train)} spans"
    bars = {"kronfluence": 5.0, "captum": 15.0, "recompute per test": 100.0}
    for tool in ("spanfluence", *bars):
        found = rounds.last[tool]
        run.results.times.append(Time(job, tool, rounds.seconds(tool), found.measured))
    for tool, bar in bars.items():
        run.results.at_least(
            f"`tracin++`, {points} points, cold: faster than {tool}",
            rounds.ratio(tool, "spanfluence"),
            bar,
            note="" if rounds.last[tool].measured == "all" else rounds.last[tool].measured,
        )


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


def _agreement_rows(run: Run, rounds: Rounds) -> None:
    mine = rounds.last["spanfluence"].scores
    for tool in ("kronfluence", "captum"):
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


def methods(run: Run) -> None:
    """`pinpoint` and `if++` with ggn against `tracin++` at one point; all of the default layers."""
    work, rounds = run.work, Rounds(run)
    for _ in range(run.asked.repeats):
        rounds.note("faithful", ours.faithful(work))
        rounds.note("faithful, warm", ours.faithful(work, cold=False))
        rounds.note("pinpoint, warm", ours.pinpoint(work, cold=False))
        rounds.note("pinpoint", ours.pinpoint(work))
        rounds.note("if++ (ggn)", ours.if_by_ggn(work, run.asked.ggn_sample))
    job = f"one point, {len(work.tests)} tests x {len(work.train)} spans, by method"
    for name in rounds.times:
        state = "" if name.endswith("warm") else ", cold"
        run.results.times.append(Time(job, f"spanfluence {name}{state}", rounds.seconds(name)))
    against = "against `tracin++` at one point"
    for state, suffix in (("both cold", ""), ("trunk states known to both", ", warm")):
        ratio = rounds.ratio(f"pinpoint{suffix}", f"faithful{suffix}")
        run.results.at_most(f"`pinpoint` {against}", ratio, 0.6, note=state)
    run.results.at_most(
        f"`if++` with ggn {against}",
        rounds.ratio("if++ (ggn)", "faithful"),
        3.0,
        note=f"curvature sample {run.asked.ggn_sample}, solve included, both cold",
    )


def lissa(run: Run) -> None:
    """Our batched LiSSA against one test at a time by vhp."""
    comparison, steps = vhp_peer.Comparison(run.work), run.asked.lissa_steps
    sizes = sorted({min(16, run.asked.tests), run.asked.tests})
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(run.asked.repeats):
        naive = comparison.by_vhp(steps)
        times["vhp"].append(naive.seconds)
        for size in sizes:
            own = comparison.ours(size, steps)
            times[str(size)].append(own.seconds)
        run.say(", ".join(f"{n}: {1e3 * t[-1]:.1f} ms" for n, t in times.items()))
    job = "a step of LiSSA, per test"
    for size in reversed(sizes):
        found = median(times[str(size)])
        run.results.times.append(Time(job, f"spanfluence, {size} tests", found, f"{steps} steps"))
        ratios = [v / t for v, t in zip(times["vhp"], times[str(size)], strict=True)]
        name = f"`if++` with LiSSA, per test, {size} tests together: faster than vhp one by one"
        run.results.at_least(name, median(ratios), 4.0)
    run.results.times.append(Time(job, "torch vhp", median(times["vhp"]), f"{steps} steps"))
    found = agreement(own.first, naive.first)
    run.results.plain(f"LiSSA after {steps} steps against vhp", found.error, str(found))


def growth(run: Run) -> None:
    """Time and memory of `tracin++` at one point as the training set grows."""
    available = len(corpus()[1])
    sizes = sorted(run.asked.growth)
    if sizes[-1] > available:
        sizes = [max(1, available * size // sizes[-1]) for size in sizes]
    found = {}
    for size in (*sizes, sizes[0]):
        one = _apart(run, "faithful", size)
        found.setdefault(size, []).append(one.seconds)
        run.say(f"{size} spans: {one.seconds:.1f} s, peak {one.peak_bytes / 2**20:.0f} MiB")
        if len(found[size]) == 1:
            peak = f"{one.peak_bytes / 2**20:.0f} MiB"
            run.results.plain(f"peak memory, {size:,} spans", one.peak_bytes, peak)
    first = median(found[sizes[0]])
    for size in sizes[1:]:
        ratio = found[size][0] / first / (size / sizes[0])
        name = f"growth from {sizes[0]:,} to {size:,} spans: time / size"
        run.results.at_most(name, ratio, 1.1, note="a process each, tracin++ at one point, cold")


def memory(run: Run) -> None:
    """Peak memory of each tool, in a process of its own, at one point."""
    spans = min(run.asked.memory_spans, run.asked.spans)
    for tool in ("tracin++", "kronfluence", "captum"):
        found = _apart(run, tool, spans)
        name = "spanfluence" if tool == "tracin++" else tool
        shown = f"{found.peak_bytes / 2**20:.0f} MiB"
        run.say(f"{name}: {shown}")
        what = f"peak memory of {name}, {run.asked.tests} tests x {spans} spans, one point"
        run.results.plain(what, found.peak_bytes, shown)


def _apart(run: Run, tool: str, spans: int):  # noqa: ANN202
    asked = run.asked
    flags = {"points": 1, "threads": asked.threads, "seed": asked.seed, "batch": asked.batch}
    return measured_apart(tool, asked.run, asked.tests, spans, **flags)


def ekfac(run: Run) -> None:
    """EK-FAC against kronfluence's on a small classifier."""
    from ekfac_check import ekfac_agreements

    work = replace(
        run.work, train=run.work.train[: run.asked.ekfac_spans], tests=run.work.tests[:16]
    )
    damping, found = ekfac_agreements(work, run.asked.batch)
    for way, one in found.items():
        run.say(f"{way}: {one}")
    run.results.at_least(
        "EK-FAC, rank correlation with kronfluence",
        found["same rows"].spearman,
        0.99,
        unit="rank",
        note=f"small classifier, lambda {damping:.2g}, exact Fisher, input factors over the same rows",
    )
    run.results.plain(
        "EK-FAC, rank correlation with kronfluence's own input factors",
        found["as it comes"].spearman,
        f"{found['as it comes'].spearman:.4f}",
        "it averages the last block's inputs over tokens that no gradient reaches",
    )


def bfloat16(run: Run) -> None:
    """Rank correlation of bfloat16 scores with float32 ones, where the library can."""
    scores = ours.bfloat16_scores(run.work)
    if scores is None:
        run.say("skipped: the classifier has no option dtype")
        return
    found = agreement(scores, ours.faithful(run.work).scores)
    run.results.plain(
        "bfloat16 against float32, `tracin++` at one point", found.spearman, str(found)
    )


SECTIONS: dict[str, Callable[[Run], None]] = {
    section.__name__: section
    for section in (peers, methods, lissa, growth, memory, ekfac, bfloat16)
}
