"""Where a Hugging Face classifier keeps its blocks and its head, found by watching it run."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from spanfluence.errors import InputError
from spanfluence.products import FastLinear
from spanfluence.trim import forward_replaced


@dataclass(frozen=True)
class Anatomy:
    """`blocks`: the encoder's repeated blocks in order. `head`: names of parameters used only after them."""

    blocks: tuple[nn.Module, ...]
    block_names: tuple[str, ...]
    head: frozenset[str]

    def block_of(self, parameter: str) -> int | None:
        """Index of the block a parameter belongs to, None outside the blocks."""
        for index, name in enumerate(self.block_names):
            if parameter.startswith(name + "."):
                return index
        return None


def dissect(model: nn.Module, inputs: Mapping[str, Tensor]) -> Anatomy:
    """Find blocks and head by running `inputs` once."""
    name, blocks = _block_list(model)
    names = tuple(f"{name}.{index}" for index in range(len(blocks)))
    early, late = _calls_around(model, blocks, inputs)
    head = {
        parameter
        for parameter, _ in model.named_parameters()
        if (owner := parameter.rpartition(".")[0]) in late
        and owner not in early
        and not any(parameter.startswith(block + ".") for block in names)
    }
    return Anatomy(tuple(blocks), names, frozenset(head))


def _block_list(model: nn.Module) -> tuple[str, Sequence[nn.Module]]:
    """The longest outermost ModuleList whose members are all of one class."""
    best: tuple[str, Sequence[nn.Module]] = ("", ())
    seen: list[str] = []
    for name, module in model.named_modules():
        if not isinstance(module, nn.ModuleList) or any(name.startswith(s + ".") for s in seen):
            continue
        seen.append(name)
        members = list(module)
        if len({type(member) for member in members}) == 1 and len(members) > len(best[1]):
            best = (name, members)
    return best


def _calls_around(
    model: nn.Module, blocks: Sequence[nn.Module], inputs: Mapping[str, Tensor]
) -> tuple[set[str], set[str]]:
    """Names of modules called before the last block returned, and after it."""
    order: list[tuple[str, int]] = []
    handles = []
    for name, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(_note(order, name)))
    finished = [0]
    if blocks:
        handles.append(blocks[-1].register_forward_hook(_mark(order, finished)))
    try:
        with torch.no_grad():
            model(**inputs)
    finally:
        for handle in handles:
            handle.remove()
    early = {name for name, at in order if at < finished[0]}
    late = {name for name, at in order if at >= finished[0]}
    return early, late


def _note(order: list[tuple[str, int]], name: str) -> Callable[..., None]:
    def hook(*_: object) -> None:
        order.append((name, len(order)))

    return hook


def _mark(order: list[tuple[str, int]], finished: list[int]) -> Callable[..., None]:
    def hook(*_: object) -> None:
        finished[0] = len(order)

    return hook


def select_parameters(
    model: nn.Module, anatomy: Anatomy, attribute: str | Sequence[str]
) -> dict[str, nn.Parameter]:
    """The parameters that scores speak of.

    `"last-N"`: the last N blocks and the head; `"head"`; `"all"`; otherwise one or several shell-style
    patterns of parameter names, e.g. `"*.layer.11.output.*"`.
    """
    parameters = dict(model.named_parameters())
    if attribute == "all":
        return parameters
    if attribute == "head":
        chosen = set(anatomy.head)
    elif isinstance(attribute, str) and (match := re.fullmatch(r"last-(\d+)", attribute)):
        count = int(match.group(1))
        if count == 0:
            raise InputError("attribute='last-0' names no block: use 'head'")
        first = max(0, len(anatomy.blocks) - count)
        chosen = set(anatomy.head) | {
            name
            for name in parameters
            if (block := anatomy.block_of(name)) is not None and block >= first
        }
    else:
        patterns = [attribute] if isinstance(attribute, str) else list(attribute)
        chosen = {name for name in parameters for p in patterns if fnmatch.fnmatchcase(name, p)}
    if not chosen:
        raise InputError(
            f"attribute={attribute!r} matches no parameter of the model: use 'last-N', 'head', 'all' or "
            f"a pattern such as '{next(iter(parameters))}'"
        )
    return {name: parameter for name, parameter in parameters.items() if name in chosen}


def first_attributed_block(anatomy: Anatomy, attributed: Mapping[str, object]) -> int:
    """How many leading blocks do not depend on any attributed parameter."""
    first = len(anatomy.blocks)
    for name in attributed:
        block = anatomy.block_of(name)
        if block is not None:
            first = min(first, block)
        elif name not in anatomy.head:
            return 0
    return first


class _Enough(Exception):
    """Raised inside a forward pass once the trunk's states are in hand."""


class Trunk:
    """The frozen part of a model: embeddings and the blocks before the first attributed one.

    `states` runs it; `resume` runs the rest of the model from its states, through the model's own
    forward code, so that masks, position biases and heads are the architecture's own.
    """

    def __init__(self, model: nn.Module, anatomy: Anatomy, depth: int) -> None:
        self.model = model
        self.depth = depth
        self._skipped = anatomy.blocks[:depth]
        self._next = anatomy.blocks[depth] if depth < len(anatomy.blocks) else None
        self._returns_tuple = False

    def states(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Hidden states that enter the first attributed block."""
        found: list[Tensor] = []

        def before(_: nn.Module, args: tuple[Tensor, ...], kwargs: dict[str, Tensor]) -> None:
            found.append(args[0] if args else kwargs["hidden_states"])
            raise _Enough

        def after(_: nn.Module, __: object, output: Tensor | tuple[Tensor, ...]) -> None:
            self._returns_tuple = isinstance(output, tuple)
            if self._next is None:
                found.append(output[0] if isinstance(output, tuple) else output)
                raise _Enough

        handles = [self._skipped[-1].register_forward_hook(after)]
        if self._next is not None:
            handles.append(self._next.register_forward_pre_hook(before, with_kwargs=True))
        try:
            with torch.no_grad(), FastLinear():
                self.model(**inputs)
        except _Enough:
            return found[0]
        finally:
            for handle in handles:
                handle.remove()
        raise RuntimeError("the trunk's last block was never called")

    def resume(self, inputs: Mapping[str, Tensor], states: Tensor) -> Tensor:
        """Logits from the trunk's states."""
        with self._skipping(states):
            logits: Tensor = self.model(**inputs).logits
        return logits

    @contextmanager
    def _skipping(self, states: Tensor) -> Iterator[None]:
        passed = (states, None) if self._returns_tuple else states

        def skip(*_: object, **__: object) -> object:
            return passed

        def inject(
            _: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]
        ) -> tuple[tuple[object, ...], dict[str, object]]:
            # Some encoders touch the states between blocks (DeBERTa's convolution): the stored ones
            # already went through that, so they replace whatever arrives here.
            if args:
                return (states, *args[1:]), kwargs
            return args, {**kwargs, "hidden_states": states}

        with ExitStack() as stack:
            for block in self._skipped:
                stack.enter_context(forward_replaced(block, skip))
            if self._next is not None:
                handle = self._next.register_forward_pre_hook(inject, with_kwargs=True)
                stack.callback(handle.remove)
            yield
