"""The published numbers of "On Sample Based Explanation Methods for NLP" (ACL 2021), as printed.

Sag, Lag and Ral in percent, of Table "Performance of different explanation methods"; the faithfulness
table gives the mean and the variance of a Spearman correlation, both times 100.
"""

from __future__ import annotations

from collections.abc import Sequence

METHODS = ("if", "if+", "if++", "tracinf", "tracin+", "tracin++")

_TABLE: dict[str, dict[str, tuple[float, ...]]] = {
    "mams": {
        "Sag(10)": (14.22, 17.17, 21.74, 15.89, 22.65, 23.92),
        "Sag(100)": (14.65, 15.10, 19.83, 15.97, 19.54, 21.32),
        "Lag(10)": (21.63, 25.66, 65.41, 38.20, 8.60, 78.03),
        "Lag(100)": (26.07, 25.66, 62.52, 43.19, 6.27, 75.02),
        "Ral(20%)": (9.80, 5.64, 3.55, 9.80, 11.89, 16.05),
        "Ral(50%)": (28.55, 1.47, 18.14, 22.30, 5.64, 18.14),
    },
    "sentihood": {
        "Sag(10)": (4.69, 4.75, 22.54, 3.07, 0.98, 26.21),
        "Sag(50)": (3.56, 7.82, 22.21, 1.78, 1.61, 23.43),
        "Lag(10)": (53.00, 41.91, 61.96, 55.91, 18.22, 66.65),
        "Lag(50)": (56.38, 44.05, 63.16, 59.66, 17.49, 66.72),
        "Ral(20%)": (10.56, 16.21, 6.91, 9.23, 6.91, 9.23),
        "Ral(50%)": (16.21, 18.53, 11.05, 27.83, 9.23, 4.58),
    },
}
FAITHFULNESS: dict[str, tuple[float, float]] = {
    "control": (55.11, 4.84),
    "tracin++": (60.14, 3.57),
    "if++": (59.37, 20.50),
}
ACCURACY = {"mams": 88.3, "sentihood": 97.6}
KS: dict[str, tuple[int, ...]] = {"mams": (10, 100), "sentihood": (10, 50)}
CASE = "been here a few times and food has always been good but service really suffers when it gets crowded"
"""The test of the paper's case study, asked about its food."""
CASE_ROWS: dict[str, str] = {
    "tracin++": "expected there to be more options for tapas the food was mediocre but the service **was pretty "
    "good.** (service: positive)",
    "tracin+": "decor **is simple yet functional** and although the staff are not the most attentive in the "
    "world, ... (decor: positive)",
    "tracinf": "this place is the tourist fav of chinese food in the city, the service was fast, but the taste "
    "of the food is average, too much starch ... (chinese food: neutral)",
    "if++": "... the host was rude to us as we walked in, we stayed because the decor is **charming** and we "
    "wanted french food. (decor: positive)",
    "if+": "the scene **a dark refurbished** dining car hosts plenty of hipsters in carefully selected "
    "thrift-store clothing. (dining car: positive)",
    "if": "an unpretentious sexy atmosphere lends itself to the above average wine-list and a menu that can "
    "stand-up to any other restaurant ... (menu: positive)",
}
"""What the paper prints there: the first explanation of each method, spans in bold."""


def published(dataset: str, method: str, column: str) -> float | None:
    """The paper's number, or None where it has none."""
    values = _TABLE[dataset].get(column)
    return values[METHODS.index(method)] if values and method in METHODS else None


def columns(dataset: str, measures: Sequence[str]) -> list[str]:
    """The paper's columns of some measures."""
    return [name for name in _TABLE[dataset] if name.split("(")[0] in measures]
