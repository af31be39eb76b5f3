"""Self-influence: how much each training unit supports itself, without the full score matrix."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from spanfluence.batches import Side, UnitBatches
from spanfluence.errors import InputError
from spanfluence.explain import Explainer
from spanfluence.finite import check_finite
from spanfluence.precise import precise
from spanfluence.progress import progress_bar


def self_influence(explainer: Explainer, *, show: bool = False) -> Float[np.ndarray, " units"]:
    """score(u, u) of every training unit: sum_i w_i |s(u; theta_i)|^2, one pass over the units.

    High values are examples that only their own gradient explains: rare ones, and wrong labels. A cosine
    of a unit with itself is 1 and tells nothing, an inverse curvature would need one solve for each
    training unit, and a weight would rank units by importance: only plain inner products are offered.
    """
    method = explainer.method
    if (method.scale, method.weight, method.curvature) != ("none", "none", "identity"):
        raise InputError(
            f"self-influence of {explainer.name!r} is not available: use a method without scale, weight and "
            "curvature, e.g. 'tracin' or 'tracinf'"
        )
    if method.units[0] != method.units[1]:
        raise InputError(
            f"self-influence of {explainer.name!r} compares a unit with another kind of unit: "
            "use a method with equal units on both sides"
        )
    kind = method.units[1]
    labels = explainer.classifier.label_ids([u.example for u in explainer.train_units], "given")
    side = Side(explainer.train_units, labels, method, kind)
    result = np.zeros(len(explainer.train_units))
    with progress_bar("self-influence", len(result), show=show) as advance:
        for batch in UnitBatches(explainer.classifier, [side], explainer.batch_tokens):
            rows = batch.rows(0)
            for point in explainer.points:
                with explainer.classifier.at(point.parameters):
                    found = batch.gradients(explainer.capture, [0])[0]
                    norms = precise(found.square_norms()).sum(0).numpy()
                examples = [explainer.train_units[row].example for row in rows]
                check_finite(np.isfinite(norms), examples, "gradients that are")
                result[rows] += point.weight * norms
            advance(len(rows))
    return result
