"""The table of explanation methods: each is a row of choices, none has code of its own.

    score(u', u) = sum_i w_i scale< P_i s(u'; theta_i), s(u; theta_i) > weight(u)

    s(instance) = g(z)                         s(span) = g(z_masked) - g(z), or -g(z) ("unmasked")

A positive score means that the two units pull the parameters the same way: the top of a list supports
the test unit, the bottom opposes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from spanfluence.errors import InputError

UnitKind = Literal["instance", "span"]
PointKind = Literal["final", "checkpoints", "delta"]
Sign = Literal["support", "paper"]


@dataclass(frozen=True, kw_only=True)
class Method:
    """One row. The defaults are the paper's values of the columns that the paper does not vary."""

    points: PointKind = "final"
    curvature: Literal["identity", "lissa", "ggn", "ekfac", "cg"] = "identity"
    units: tuple[UnitKind, UnitKind] = ("span", "span")  # (test, train)
    target: Literal["loss", "logit", "margin"] = "loss"
    contrast: Literal["masked", "unmasked"] = "masked"
    locality: Literal["text", "span"] = "text"
    scale: Literal["none", "cosine", "layer-cosine"] = "none"
    weight: Literal["none", "importance", "positive-importance"] = "none"

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise InputError(f"{name}={value!r} is not known: use {_either(allowed)}")
        pair = isinstance(self.units, tuple) and len(self.units) == 2
        if not pair or any(kind not in get_args(UnitKind) for kind in self.units):
            raise InputError(
                f"units={self.units!r} must be a pair (test, train) of 'instance' or 'span'"
            )
        if "span" not in self.units:
            for name in ("contrast", "locality"):
                if getattr(self, name) != CHOICES[name][0]:
                    raise InputError(
                        f"{name}={getattr(self, name)!r} needs a span unit on one side"
                    )
        if self.units[1] == "instance" and self.weight != "none":
            raise InputError(f"weight={self.weight!r} needs span units on the training side")

    @property
    def paper_sign(self) -> int:
        """-1 where the paper's published numbers carry the opposite sign of ours.

        The paper's IF has the minus of its Eq. 1; its IF+ and TracIn+ are g'.(g - g_m), minus ours; its
        IF++ and TracIn++ are printed with a minus but were computed, in the released code, as ours.
        """
        test, train = self.units
        if train == "instance":
            return 1 if self.curvature == "identity" else -1
        return 1 if test == "span" else -1

    def varied(self, **columns: Any) -> Method:
        """This row with other choices in some columns."""
        known = [field.name for field in fields(self)]
        unknown = sorted(set(columns) - set(known))
        if unknown:
            raise InputError(
                f"a method has no column {unknown[0]!r}: its columns are {_either(known)}"
            )
        if isinstance(columns.get("units"), list):
            columns["units"] = tuple(columns["units"])
        return replace(self, **columns)


# The first choice of each column is the paper's.
CHOICES: dict[str, tuple[str, ...]] = {
    "points": get_args(PointKind),
    "curvature": ("identity", "lissa", "ggn", "ekfac", "cg"),
    "target": ("loss", "logit", "margin"),
    "contrast": ("masked", "unmasked"),
    "locality": ("text", "span"),
    "scale": ("none", "cosine", "layer-cosine"),
    "weight": ("none", "importance", "positive-importance"),
}

_PINPOINT = Method(
    target="logit",
    contrast="unmasked",
    locality="span",
    scale="layer-cosine",
    weight="importance",
)

METHODS: dict[str, Method] = {
    "if": Method(curvature="lissa", units=("instance", "instance")),
    "if+": Method(curvature="lissa", units=("instance", "span")),
    "if++": Method(curvature="lissa"),
    "tracin": Method(points="checkpoints", units=("instance", "instance")),
    "tracinf": Method(points="delta", units=("instance", "instance")),
    "tracin+": Method(points="delta", units=("instance", "span")),
    "tracin++": Method(points="delta"),
    "control": Method(points="checkpoints"),
    "faithful": Method(),
    "pinpoint": _PINPOINT,
    "tracepoint": replace(_PINPOINT, points="checkpoints", target="loss"),
}


class Unnamed(str):
    """The name of the default row where nobody has named one; told from the same name written out."""

    __slots__ = ()


DEFAULT = Unnamed("pinpoint")
DEFINING = ("points", "curvature", "units")
"""The columns that tell the paper's rows apart."""


def method_named(name: str) -> Method:
    """A row by name."""
    if not isinstance(name, str) or name not in METHODS:
        raise InputError(f"no method {name!r}: use {_either(METHODS)}")
    return METHODS[name]


def written_row(text: str) -> tuple[str, dict[str, str]]:
    """A row as one writes it in a line, "pinpoint, points=checkpoints": its name, and columns changed."""
    name, *changes = (part.strip() for part in text.split(","))
    columns = dict(change.partition("=")[::2] for change in changes)
    odd = [column for column in columns if column not in CHOICES]
    if odd:
        raise InputError(
            f"method {text!r} changes {odd[0]!r}, which is no column: use {', '.join(CHOICES)}"
        )
    return name, columns


def starting_row(method: str | Method | None, columns: Mapping[str, Any]) -> Method:
    """The row that `columns` vary.

    A name, or a row itself, says which. Without a name it is `pinpoint`; but where a column that tells
    the paper's rows apart is given, a row is being written, and all else has the paper's values.
    """
    if isinstance(method, Method):
        return method
    if method is not None and not isinstance(method, Unnamed):
        return method_named(method)
    written = any(columns.get(name) is not None for name in DEFINING)
    return Method() if written else METHODS[DEFAULT]


def row_name(method: str | Method | None, row: Method, columns: Mapping[str, Any]) -> str:
    """What to call `row`, made from `method` by `columns`; points="given" are those of the caller."""
    start = starting_row(method, columns)
    own = {"points": "given"} if columns.get("points") == "given" else {}
    if not isinstance(method, Method) and start is METHODS.get(method or DEFAULT):
        return _with(method or DEFAULT, columns if own or row != start else {})
    known = next((name for name, each in METHODS.items() if each == row), None)
    if known is not None:
        return _with(known, own)
    paper = asdict(Method())
    return _with("row", {n: v for n, v in asdict(row).items() if v != paper[n]} | own)


def _with(name: str, columns: Mapping[str, Any]) -> str:
    changed = ", ".join(f"{column}={value}" for column, value in columns.items())
    return f"{name} with {changed}" if changed else str(name)


def _either(names: Any) -> str:
    return ", ".join(f"'{name}'" for name in names)
