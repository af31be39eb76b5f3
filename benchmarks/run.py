"""Exact span scores against captum, kronfluence and plain autograd, on one sample and one model.

    make bench                                                  # builds its environment, runs one round of this
    make bench BENCH_FLAGS="--repeats 3"                        # as results.md was made
    python benchmarks/run.py --tests 8 --spans 16 --threads 1   # smaller
    python benchmarks/run.py --only growth --growth 1000 8000 11186

All tools get the same texts, points and linear layers (the default attributed set without its norms: all that
the peers can do). Slow ones run on fewer spans and are scaled in proportion; the table says so. Tools take
turns, round after round, and ratios are taken within a round: other work on the machine meets all alike.
Results are written after each section, to --out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import torch
from report import Results, machine_facts, write
from rounds import Run
from sections import SECTIONS
from timing import GemmRate
from workload import corpus, trained, workload

HERE = Path(__file__).parent
SIZES = {
    "tests": (64, "tests"),
    "spans": (512, "training spans"),
    "points": (3, "delta-faithful points of tracin++"),
    "repeats": (1, "rounds"),
    "kronfluence-spans": (128, "spans that kronfluence is timed on"),
    "captum-spans": (32, "spans that captum is timed on"),
    "recompute-spans": (8, "spans that recompute-per-test is timed on, for one test a round"),
    "reference-tests": (8, "tests of the check against plain autograd"),
    "reference-spans": (64, "spans of the check against plain autograd"),
    "ggn-sample": (256, "curvature sample of if++ with ggn"),
    "lissa-steps": (20, "steps of LiSSA to time; a solve takes hundreds"),
    "ekfac-spans": (128, "training spans of the EK-FAC comparison"),
    "memory-spans": (64, "spans of the memory measurement of each tool"),
    "train-examples": (2000, "texts of the one epoch of fine-tuning, without --run"),
    "batch": (0, "texts in a batch of a peer; 0: the fastest of 16, 32 and 64 in a trial"),
    "seed": (0, "of the sample and the model"),
}

NOTES = (
    "Times are medians over the rounds; ratios are taken within a round, then their median. Each peer's is to our two runs "
    "right before and after it: the machine's speed changes within minutes.",
    "Points are given to every tool. All else is counted: examining the model, the tests' side.",
    "Every tool is warmed up. Every peer has a process of its own, so that none runs with what our engine tells the memory allocator.",
    "kronfluence and captum score all texts, masked and whole, on both sides; (g'_m - g').(g_m - g) is combined from "
    "these products. Their texts are sorted by length, all tests go in one block.",
    "captum runs a backward pass per example by default; its batched way needs gradients to be started behind the "
    "frozen trunk, which is done for it here.",
    "Scaled times: what a run on one span takes is fixed, the rest grows in proportion to the spans.",
    "Recompute per test: plain autograd, text by text, each training gradient anew for each test.",
    "Necessary work: `benchmarks/flops.py`. EK-FAC: `benchmarks/ekfac_check.py` says what was done to compare alike.",
)


def command_line() -> argparse.Namespace:
    """The sizes and choices of this run."""
    parser = argparse.ArgumentParser(
        description="Compare with captum, kronfluence and plain autograd.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    for name, (value, text) in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=value, help=text)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of torch")
    parser.add_argument(
        "--growth", type=int, nargs="+", default=[1000, 8000], help="training spans"
    )
    parser.add_argument("--run", type=Path, help="a run folder instead of a quickly trained model")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), help="sections to run")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the results")
    return parser.parse_args()


def main() -> None:
    """Prepare the workload, run the sections, write what they find."""
    asked = command_line()
    torch.set_num_threads(asked.threads)
    warnings.simplefilter("ignore", FutureWarning)  # of the peers
    with tempfile.TemporaryDirectory() as scratch:
        run = _prepared(asked, Path(scratch))
        failed = [name for name in asked.only or SECTIONS if not _section(name, run)]
    print(f"results are in {asked.out / 'results.md'}", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _prepared(asked: argparse.Namespace, scratch: Path) -> Run:
    name, train, _ = corpus()
    model = "a run of the user's own"
    if asked.run is None:
        print(
            f"training MiniLM for one epoch on {asked.train_examples} texts of {name} ...",
            flush=True,
        )
        asked.run = trained(train, asked.train_examples, scratch / "run", asked.seed)
        model = (
            f"MiniLM-L6, last two layers and head after one epoch on {asked.train_examples} texts"
        )
    work = workload(asked.run, asked.tests, asked.spans, points=asked.points, seed=asked.seed)
    lengths = [len(text) for text in work.linear.encoder.encode(work.train)]
    facts = {
        "sample": f"{len(work.tests)} tests x {len(work.train)} training spans of {work.corpus}",
        "spans": f"the middle quarter of each text's words; mean length {sum(lengths) / len(lengths):.1f} tokens",
        "model": model,
        "rounds": str(asked.repeats),
        "attributed": f"{sum(p.numel() for p in work.linear.attributed.values()):,} parameters of linear layers",
        **machine_facts(asked.threads),
    }
    return Run(asked, work, Results(facts, notes=list(NOTES)), GemmRate())


def _section(name: str, run: Run) -> bool:
    """Whether a section ran to its end; a failure costs only its own rows."""
    print(f"== {name}", flush=True)
    began = time.perf_counter()
    try:
        SECTIONS[name](run)
        done = True
    except Exception as error:  # a peer's failure must not lose the others' results
        traceback.print_exc()
        run.results.notes.append(f"The section `{name}` failed with {type(error).__name__}.")
        done = False
    print(f"   {time.perf_counter() - began:.0f} s", flush=True)
    run.asked.out.mkdir(parents=True, exist_ok=True)
    write(run.results, run.asked.out)
    return done


if __name__ == "__main__":
    main()
