"""Reading a classifier from a folder or the hub: safetensors only, no remote code, nothing unpickled."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from spanfluence.errors import ModelError
from spanfluence.minilm import minilm_folder


def resolve_folder(source: str | Path) -> str | Path:
    """A model folder, the `model` folder of a run, the name of a hub model, or "minilm"."""
    if source == "minilm":
        return minilm_folder()
    path = Path(source).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file() and (path / "model" / "config.json").is_file():
            path = path / "model"
        _check_folder(path)
        return path
    if path.exists():
        raise ModelError(
            f"{source} is a file: give the folder that holds config.json and model.safetensors"
        )
    looks_local = str(source).startswith((".", "/", "~")) or str(source).count("/") > 1
    if looks_local or not str(source).strip():
        raise ModelError(
            f"no folder {source!s}: give a folder with a model, or a hub name such as 'org/name'"
        )
    _reach(str(source))
    return str(source)


def model_fingerprint(source: str | Path) -> str:
    """SHA-256 of a model folder's files, weights and settings alike; of the name of one from the hub."""
    folder = Path(source).expanduser()
    digest = hashlib.sha256(b"" if folder.is_dir() else str(source).encode())
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        with file.open("rb") as stream:
            own = hashlib.file_digest(stream, "sha256").hexdigest()
        digest.update(f"{file.relative_to(folder)} {own}\n".encode())
    return digest.hexdigest()


def base_fingerprint(base: str | Path) -> str | None:
    """What a training of this base model begins with; None where the name says it."""
    if not Path(base).expanduser().is_dir():
        return None
    return model_fingerprint(resolve_folder(base))[:16]


def _reach(name: str) -> None:
    """Raise at once for a hub model that is neither cached nor there: transformers tries for a minute."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        if not isinstance(try_to_load_from_cache(name, "config.json"), str):
            get_hf_file_metadata(hf_hub_url(name, "config.json"))
    except Exception as error:
        answered = isinstance(error, HfHubHTTPError | HFValidationError)
        how = "gives no model of that name" if answered else "could not be reached"
        raise ModelError(
            f"there is no folder {name}, and the hub {how} ({_first_line(error)}): give a folder saved "
            "by save_pretrained, or a hub name that can be reached"
        ) from None


def _check_folder(path: Path) -> None:
    if not (path / "config.json").is_file():
        raise ModelError(
            f"{path} is not a model folder: it has no config.json (a run folder holds its model in 'model/')"
        )
    if not list(path.glob("*.safetensors")):
        pickles = sorted([*path.glob("*.bin"), *path.glob("*.pt"), *path.glob("*.pth")])
        if pickles:
            raise ModelError(
                f"{path} holds its weights only as a pickle ({pickles[0].name}), which can run code when "
                "opened: convert it with save_pretrained(..., safe_serialization=True) where you trust it"
            )
        raise ModelError(f"{path} has no weights: it needs a model.safetensors file")
    # Without these transformers makes up a tokenizer that knows no word.
    if not any(list(path.glob(name)) for name in ("tokenizer.json", "vocab.*", "*.model")):
        raise ModelError(f"{path} has no tokenizer: save it there with tokenizer.save_pretrained")


def load_parts(source: str | Path, *, labels: tuple[str, ...] | None = None) -> tuple[Any, Any]:
    """(model, tokenizer). With `labels` a new head is made for them; without, a trained one must be there."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = resolve_folder(source)
    options: dict[str, Any] = {"trust_remote_code": False}
    new_head: dict[str, Any] = {}
    if labels is not None:
        new_head = {
            "num_labels": len(labels),
            "id2label": dict(enumerate(labels)),
            "label2id": {label: index for index, label in enumerate(labels)},
            "ignore_mismatched_sizes": True,
        }
    with quiet_transformers(), _reading(source):
        tokenizer = AutoTokenizer.from_pretrained(folder, **options)
        model, report = AutoModelForSequenceClassification.from_pretrained(
            folder,
            use_safetensors=True,
            dtype=torch.float32,
            # Fused kernels may let an example's gradient depend on its neighbours in the batch.
            attn_implementation="eager",
            output_loading_info=True,
            **options,
            **new_head,
        )
    missing = sorted(report["missing_keys"])
    if labels is None and missing:
        raise ModelError(
            f"{source} has no trained classifier head ({missing[0]} is missing): it is an encoder; "
            "fine-tune it first with 'spanfluence train --base'"
        )
    check_finite(model, str(source))
    return model.eval(), tokenizer


def load_encoder(source: str | Path) -> tuple[Any, Any]:
    """(model, tokenizer) of an encoder without a head."""
    from transformers import AutoModel, AutoTokenizer

    folder = resolve_folder(source)
    with quiet_transformers(), _reading(source, "an encoder"):
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        model = AutoModel.from_pretrained(
            folder, trust_remote_code=False, use_safetensors=True, dtype=torch.float32
        )
    check_finite(model, str(source))
    return model.eval(), tokenizer


def load_reader(source: str | Path) -> tuple[Any, Any]:
    """(model, tokenizer) of a reading-comprehension model, which must have a trained head."""
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    folder = resolve_folder(source)
    with quiet_transformers(), _reading(source, "a question-answering model"):
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        model, report = AutoModelForQuestionAnswering.from_pretrained(
            folder,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelError(
            f"{source} is not a question-answering model ({missing[0]} is missing): name one such as "
            "'deepset/roberta-base-squad2', or a folder made by experiments/train_reader.py"
        )
    check_finite(model, str(source))
    return model.eval(), tokenizer


def trained_labels(source: str | Path) -> tuple[str, ...]:
    """The label names that a model's configuration carries, in the order of its outputs."""
    from transformers import AutoConfig

    folder = resolve_folder(source)
    with quiet_transformers(), _reading(source):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    return tuple(str(config.id2label[index]) for index in range(config.num_labels))


def read_checkpoint(file: Path) -> dict[str, Tensor]:
    """The tensors of a checkpoint."""
    from safetensors.torch import load_file

    try:
        found: dict[str, Tensor] = load_file(file)
    except Exception as error:  # safetensors has its own, which is no OSError
        raise ModelError(
            f"{file} cannot be read ({_first_line(error)}): it is damaged; remove the folder "
            f"{file.parent} to go on without this epoch, or train again"
        ) from None
    return found


def check_finite(model: nn.Module, source: str) -> None:
    """Raise when a weight is NaN or infinite: every score would be."""
    for name, parameter in model.named_parameters():
        if not torch.isfinite(parameter).all():
            raise ModelError(
                f"{source}: weight {name} holds NaN or infinite values: train or export it again"
            )


@contextlib.contextmanager
def _reading(source: str | Path, what: str = "a text classifier") -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise ModelError(
            f"cannot read {what} from {source}: {_first_line(error)} "
            "(give a folder saved by save_pretrained, or a hub name that can be reached)"
        ) from error


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Without transformers' own progress bars and load reports: ours say what matters."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
