"""Inverse curvature for the test side: each file one operator with one verb, `solve(block)`.

A block holds, per layer, one flattened vector per test; `solve` returns (C + lambda I)^-1 applied to each,
with `damping` the absolute lambda, whatever C is: the mean Hessian (`lissa`, estimated) or the Gauss-Newton
matrix of a training sample (`ggn` exactly, `cg` iteratively, `ekfac` in a Kronecker basis).
`damping="auto"` is AUTO_FRACTION of the mean eigenvalue of C.

Settings (what the user writes) are split from operators (what one model point makes of them): Gram
matrices and eigenbases are computed once per point and used for every block.
"""

from __future__ import annotations

from typing import Literal, Protocol

from torch import Tensor

from spanfluence.errors import InputError, NumericsError

Block = list[Tensor]  # per layer: (tests, size)
Damping = float | Literal["auto"]


class Spent(list[Tensor]):
    """A block that nobody reads after its solve: what is solved may take its memory."""


AUTO_FRACTION = 0.1


class Operator(Protocol):
    """(C + lambda I)^-1 at one model point."""

    @property
    def damping(self) -> float:
        """The lambda in use."""

    def solve(self, block: Block) -> Block:
        """Applied to every vector of the block."""


def check_sampled(damping: Damping, sample: int) -> None:
    """A Gauss-Newton matrix of a sample is singular: only a positive lambda makes it invertible."""
    if sample < 1:
        raise InputError(f"sample={sample} must be at least 1")
    if damping == "auto":
        return
    if isinstance(damping, str) or not 0 < float(damping) < float("inf"):
        raise InputError(
            f"damping={damping!r} leaves a singular system: give a positive number, or 'auto'"
        )


def auto_damping(mean_eigenvalue: float) -> float:
    """The lambda that "auto" stands for."""
    if not 0 < mean_eigenvalue < float("inf"):
        raise NumericsError(
            f"the curvature of the training sample has the mean eigenvalue {mean_eigenvalue:g}: "
            "give damping= as a number"
        )
    return AUTO_FRACTION * mean_eigenvalue
