"""Numbers that are none: told with the example they come from, never passed on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from spanfluence.errors import NumericsError
from spanfluence.units import Example


def check_finite(
    finite: Bool[np.ndarray, " examples"], examples: Sequence[Example], what: str
) -> None:
    """Raise with the first example whose numbers are not all finite; `what` they are, as in "a loss that is"."""
    bad = np.flatnonzero(~finite)
    if len(bad):
        raise NumericsError(
            f"{examples[bad[0]].title} has {what} not finite: remove it or check the model"
        )
