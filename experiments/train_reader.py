"""Train a small reader (reading-comprehension model) on human spans, for `spanfluence spans --reader`.

    python experiments/train_reader.py --out reader            # about half an hour on one core
    python experiments/train_reader.py --out reader --resume   # after an interruption

From MiniLM-L6, on half of the SQuAD 2.0 dev set (articles held out) and the TOWE training sets, whose
targets are asked about with the paper's eleven templates. No sentence of a TOWE test set, and none of
MAMS, is trained on. The folder is a plain Hugging Face question-answering model with run.json beside it.

Several opinion spans of one target. A reader answers with one stretch of text, and it is measured by the
token F1 against all gold opinion words. So the answer to learn is the stretch from one gold span to
another (or itself) that has the highest such F1: for "fresh , tasty" all of it, for words far apart the
span that alone scores best; of equals the one nearest to the target. On the 554 training targets with
several spans that stretch has a mean F1 of 0.78, the hull of all spans 0.69, the nearest span 0.63.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from opinion_spans import DATA, Opinion, compare
from reader_data import (
    Features,
    Row,
    Settings,
    best_stretch,
    epoch_rows,
    features,
    opinions,
    say,
    squad,
)
from reader_quality import choose_settings, squad_quality, towe_quality
from safetensors.torch import load_file, save_file

from spanfluence.encoding import length_batches
from spanfluence.files import replace_folder_atomic, write_text_atomic
from spanfluence.loading import quiet_transformers, resolve_folder
from spanfluence.rng import numpy_generator
from spanfluence.runs import versions
from spanfluence.spans.qa import QuestionAnswerer

# Training --------------------------------------------------------------------------------------------


class Trainer:
    """AdamW with warm-up and linear decay over batches of similar length; word embeddings stay."""

    def __init__(self, settings: Settings, out: Path) -> None:
        from transformers import AutoModelForQuestionAnswering, AutoTokenizer

        self.settings, self.work = settings, out.with_name(out.name + ".partial")
        torch.manual_seed(settings.seed)
        folder = resolve_folder(settings.base)
        with quiet_transformers():
            self.tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
            self.model = AutoModelForQuestionAnswering.from_pretrained(
                folder,
                num_labels=2,  # the logits of the first and of the last token
                ignore_mismatched_sizes=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=torch.float32,
            )
        self.model.get_input_embeddings().requires_grad_(False)
        self.trained = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        decayed = [p for p in self.trained.values() if p.ndim > 1]
        others = [p for p in self.trained.values() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": settings.weight_decay},
             {"params": others, "weight_decay": 0.0}],
            lr=settings.learning_rate,
            fused=True,
        )  # fmt: skip
        self.step = 0
        self.history: list[dict[str, float]] = []

    def batches(self, found: Features, epoch: int) -> list[list[int]]:
        """Windows grouped by length within the token budget, in random order."""
        groups = length_batches([len(ids) for ids in found.ids], self.settings.batch_tokens)
        order = numpy_generator(self.settings.seed, "batches", epoch).permutation(len(groups))
        return [groups[i] for i in order]

    def epoch(self, found: Features, epoch: int, total_steps: int) -> None:
        """One pass over the windows."""
        self.model.train()
        torch.manual_seed(1000 * self.settings.seed + epoch)  # dropout, equal after a resume
        batches, losses, began = self.batches(found, epoch), [], time.monotonic()
        for number, rows in enumerate(batches, start=1):
            losses.append(self._update(found, rows, total_steps))
            if number % 50 == 0 or number == len(batches):
                spent = time.monotonic() - began
                say(
                    f"epoch {epoch + 1}/{len(self.settings.squad_shares)} step {number}/{len(batches)} "
                    f"loss {np.mean(losses[-50:]):.3f} {spent:.0f} s, "
                    f"{spent / number * (len(batches) - number):.0f} s left in this epoch"
                )
        self.history.append({"epoch": epoch + 1, "loss": float(np.mean(losses))})

    def _update(self, found: Features, rows: Sequence[int], total_steps: int) -> float:
        rate = self._rate(total_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        output = self.model(
            **self._collate(found, rows),
            start_positions=torch.tensor([found.starts[row] for row in rows]),
            end_positions=torch.tensor([found.ends[row] for row in rows]),
        )
        output.loss.backward()
        torch.nn.utils.clip_grad_norm_(list(self.trained.values()), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return float(output.loss.detach())

    def _rate(self, total_steps: int) -> float:
        warm = max(1, round(self.settings.warmup * total_steps))
        if self.step < warm:
            return self.settings.learning_rate * (self.step + 1) / warm
        left = (total_steps - self.step) / max(1, total_steps - warm)
        return self.settings.learning_rate * max(0.0, left)

    def _collate(self, found: Features, rows: Sequence[int]) -> dict[str, torch.Tensor]:
        given: dict[str, Any] = {"input_ids": [found.ids[row] for row in rows]}
        if found.types is not None:
            given["token_type_ids"] = [found.types[row] for row in rows]
        padded = self.tokenizer.pad(given)
        return {name: torch.tensor(values) for name, values in padded.items()}

    # Checkpoints: safetensors and json only, so that nothing is unpickled.

    def save(self, epoch: int) -> None:
        """What is needed to go on after `epoch`."""
        names = {id(p): n for n, p in self.trained.items()}
        state: dict[str, torch.Tensor] = {}
        for parameter, moments in self.optimizer.state.items():
            for key in ("exp_avg", "exp_avg_sq"):
                state[f"{names[id(parameter)]}|{key}"] = moments[key].contiguous()
        with replace_folder_atomic(self.work) as folder:
            save_file(
                {n: p.detach().contiguous() for n, p in self.trained.items()},
                folder / "model.safetensors",
            )
            save_file(state, folder / "optimizer.safetensors")
            record = {
                "settings": asdict(self.settings),
                "epoch": epoch,
                "step": self.step,
                "history": self.history,
            }
            (folder / "state.json").write_text(json.dumps(record) + "\n", encoding="utf-8")

    def resume(self) -> int:
        """Load the last checkpoint; the number of epochs done."""
        if not (self.work / "state.json").exists():
            return 0
        record = json.loads((self.work / "state.json").read_text(encoding="utf-8"))
        if record["settings"] != json.loads(json.dumps(asdict(self.settings))):
            raise SystemExit(f"{self.work} was made with other settings: delete it to start anew")
        values, state = (
            load_file(self.work / "model.safetensors"),
            load_file(self.work / "optimizer.safetensors"),
        )
        for name, parameter in self.trained.items():
            parameter.data.copy_(values[name])
            self.optimizer.state[parameter] = {
                "step": torch.tensor(float(record["step"])),
                "exp_avg": state[f"{name}|exp_avg"],
                "exp_avg_sq": state[f"{name}|exp_avg_sq"],
            }
        self.step, self.history = record["step"], record["history"]
        return int(record["epoch"])


# The run ---------------------------------------------------------------------------------------------


def run(settings: Settings, out: Path, data: Path, *, resume: bool) -> dict[str, Any]:
    """Train, save, measure on what was held out."""
    began = time.monotonic()
    squad_train, squad_held = squad(data, settings)
    towe_train, towe_held = opinions(data, settings)
    several = [o for o in towe_train if len(o.gold) > 1]
    best = [compare(o.example.text, o.gold, [best_stretch(o)])["f1"] for o in several]
    say(
        f"train: {len(squad_train)} SQuAD questions, {len(towe_train)} TOWE targets, {len(several)} with several "
        f"opinion spans (best stretch F1 {np.mean(best or [1.0]):.3f}); held out: {len(squad_held)} and {len(towe_held)}"
    )
    trainer = Trainer(settings, out)
    done = trainer.resume() if resume else 0
    epochs = range(len(settings.squad_shares))
    found = [
        features(trainer.tokenizer, epoch_rows(squad_train, towe_train, settings, e), settings)
        for e in epochs
    ]
    total_steps = sum(len(trainer.batches(each, e)) for e, each in enumerate(found))
    say(f"{sum(len(ids) for each in found for ids in each.ids):,} tokens, {total_steps} steps")
    for epoch in epochs[done:]:
        trainer.epoch(found[epoch], epoch, total_steps)
        trainer.model.eval()
        quality = towe_quality(QuestionAnswerer(trainer.model, trainer.tokenizer), towe_held)
        for (
            parameter
        ) in trainer.trained.values():  # a reader has no gradients; the training goes on
            parameter.requires_grad_(True)
        say(f"held-out TOWE after epoch {epoch + 1}: {quality}")
        trainer.history[-1] |= quality
        trainer.save(epoch + 1)
    return finish(trainer, out, began, squad_held, towe_held)


def finish(
    trainer: Trainer,
    out: Path,
    began: float,
    squad_held: Sequence[tuple[Row, list[str]]],
    towe_held: Sequence[Opinion],
) -> dict[str, Any]:
    """Measure, and write the folder in one step."""
    import shutil

    answerer = QuestionAnswerer(trainer.model, trainer.tokenizer)
    chosen, table = choose_settings(answerer, towe_held) if towe_held else ({}, [])
    for row in table:
        say(", ".join(f"{name} {value:.3f}" for name, value in row.items()))
    say(f"chosen: {chosen}")
    record = {
        "format": "spanfluence.reader/1",
        "settings": asdict(trainer.settings),
        "history": trainer.history,
        **chosen,
        "choices": table,
        "held_out": {
            "squad": squad_quality(answerer, squad_held),
            "towe": towe_quality(answerer, towe_held),
        },
        "seconds": round(time.monotonic() - began),
        "versions": versions(),
    }
    with replace_folder_atomic(out) as folder, quiet_transformers():
        trainer.model.save_pretrained(folder, safe_serialization=True)
        trainer.tokenizer.save_pretrained(folder)
        write_text_atomic(folder / "run.json", json.dumps(record, indent=2) + "\n")
    shutil.rmtree(trainer.work, ignore_errors=True)
    return record


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Train a reader from MiniLM.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the reader; must be new")
    parser.add_argument("--base", default="minilm", help="encoder to start from")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder with towe, squad2_half_dev, mams"
    )
    parser.add_argument("--shares", help="share of SQuAD in each epoch, e.g. 1,0.5")
    parser.add_argument("--lr", type=float, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, help="rows of each source, for a trial")
    parser.add_argument("--threads", type=int, help="threads of torch")
    parser.add_argument("--resume", action="store_true", help="go on after an interruption")
    arguments = parser.parse_args()
    if arguments.out.exists():
        raise SystemExit(f"{arguments.out} exists: choose another folder")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    settings = Settings(base=arguments.base, seed=arguments.seed, limit=arguments.limit)
    if arguments.shares:
        settings = replace(
            settings, squad_shares=tuple(float(s) for s in arguments.shares.split(","))
        )
    if arguments.lr:
        settings = replace(settings, learning_rate=arguments.lr)
    record = run(settings, arguments.out, arguments.data, resume=arguments.resume)
    print(json.dumps(record["held_out"], indent=2))


if __name__ == "__main__":
    main()
