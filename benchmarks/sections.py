"""The parts of the benchmark: each measures one group of rows and adds them to the results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import ours
import vhp_peer
from apart import Apart, measured_apart
from flops import necessary_flops, pinpoint_passes_flops
from own_process import OwnProcess
from peers import peers
from report import Time
from rounds import Rounds, Run
from timing import agreement
from workload import corpus


def methods(run: Run) -> None:
    """`pinpoint` and `if++` with ggn against `tracin++` at one point; all of the default layers."""
    work, rounds = run.work, Rounds(run)
    for _ in range(run.asked.repeats):
        # Warm after cold, for each: the heap that another method leaves fits less well, which would be timed too.
        rounds.note("faithful", ours.faithful(work))
        rounds.note("faithful, warm", ours.faithful(work, cold=False))
        rounds.note("pinpoint", ours.pinpoint(work))
        rounds.note("pinpoint, warm", ours.pinpoint(work, cold=False))
        rounds.note("if++ (ggn)", ours.if_by_ggn(work, run.asked.ggn_sample))
    job = f"one point, {len(work.tests)} tests x {len(work.train)} spans, by method"
    for name in rounds.times:
        state = "" if name.endswith("warm") else ", cold"
        run.results.times.append(Time(job, f"spanfluence {name}{state}", rounds.seconds(name)))
    against = "against `tracin++` at one point"
    for state, suffix in (("both cold", ""), ("trunk states known to both", ", warm")):
        ratio = rounds.ratio(f"pinpoint{suffix}", f"faithful{suffix}")
        run.results.at_most(f"`pinpoint` {against}", ratio, 0.6, note=state)
    counted = pinpoint_passes_flops(work) / necessary_flops(work, 1)
    run.results.plain(
        "... counted work of its passes alone, against all work of `tracin++`",
        counted,
        f"{counted:.2f}x",
        "both cold; the least ratio if all products ran at one rate",
    )
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
    with OwnProcess(run.asked) as vhp:
        for _ in range(run.asked.repeats):
            naive = vhp.run(vhp_peer.by_vhp, steps)
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
        if size == run.asked.tests:
            run.results.at_least(name, median(ratios), 4.0)
        else:  # fewer share less
            run.results.plain(name, median(ratios), f"{median(ratios):.3g}x")
    run.results.times.append(Time(job, "torch vhp", median(times["vhp"]), f"{steps} steps"))
    found = agreement(own.first, naive.first)
    run.results.plain(f"LiSSA after {steps} steps against vhp", found.error, str(found))


def growth(run: Run) -> None:
    """Time and memory of `tracin++` at one point as the training set grows."""
    available = len(corpus()[1])
    sizes = sorted(run.asked.growth)
    if sizes[-1] > available:
        sizes = [max(1, available * size // sizes[-1]) for size in sizes]
    found: dict[int, list[Apart]] = {}
    for size in (*sizes, sizes[0]):
        one = _apart(run, "faithful", size)
        found.setdefault(size, []).append(one)
        peak = f"{one.peak_bytes / 2**20:.0f} MiB"
        run.say(f"{size} spans: {one.seconds:.1f} s, peak {peak}")
        if len(found[size]) == 1:
            run.results.plain(f"peak memory, {size:,} spans", one.peak_bytes, peak)
    first = median(one.seconds for one in found[sizes[0]])
    least = found[sizes[0]][0].peak_bytes
    note = "a process each, tracin++ at one point, cold"
    for size in sizes[1:]:
        [one] = found[size]
        name = f"growth from {sizes[0]:,} to {size:,} spans"
        ratio = one.seconds / first / (size / sizes[0])
        run.results.at_most(f"{name}: time / size", ratio, 1.1, note=note)
        run.results.at_most(f"{name}: peak memory", one.peak_bytes / least, 1.1, note=note)


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


def _apart(run: Run, tool: str, spans: int) -> Apart:
    asked = run.asked
    batch = run.batches.get(tool, asked.batch or 32)
    flags = {"points": 1, "threads": asked.threads, "seed": asked.seed, "batch": batch}
    return measured_apart(tool, asked.run, asked.tests, spans, **flags)


def ekfac(run: Run) -> None:
    """EK-FAC against kronfluence's on a small classifier."""
    from ekfac_check import ekfac_agreements

    work = replace(
        run.work, train=run.work.train[: run.asked.ekfac_spans], tests=run.work.tests[:16]
    )
    damping, found = ekfac_agreements(work, run.batches.get("kronfluence", 32))
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
    """Rank correlation of bfloat16 scores with float32 ones."""
    found = agreement(ours.bfloat16_scores(run.work), ours.faithful(run.work).scores)
    run.results.plain(
        "bfloat16 against float32, `tracin++` at one point", found.spearman, str(found)
    )


SECTIONS: dict[str, Callable[[Run], None]] = {
    section.__name__: section
    for section in (peers, methods, lissa, growth, memory, ekfac, bfloat16)
}
