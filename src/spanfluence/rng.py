"""Random numbers from (seed, purpose, index): one process, many workers and a resumed run agree."""

from __future__ import annotations

import hashlib

import numpy as np


def derive_seed(seed: int, purpose: str, index: int = 0) -> int:
    """A 63-bit seed that depends on all three arguments and on nothing else."""
    digest = hashlib.sha256(f"{seed}/{purpose}/{index}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def numpy_generator(seed: int, purpose: str, index: int = 0) -> np.random.Generator:
    """A numpy generator of its own for this purpose and index."""
    return np.random.default_rng(derive_seed(seed, purpose, index))
