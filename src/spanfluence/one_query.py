"""Attention of one query, without a key or a value of any token.

q_h . (W_h x_r + b_h) = (q_h W_h) . x_r + q_h . b_h, and the last term, the same for all tokens, falls out of the
softmax; sum_r p_hr (V_h x_r + c_h) = V_h (sum_r p_hr x_r) + c_h. So keys and values, which are products of all tokens
with a weight, become products of one row per head.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from spanfluence.trim import Question, attend_tokens, masked


@dataclass(frozen=True, eq=False)
class OneQuery:
    """What was asked and found. Keys and values have gradients with one row per head (see `head_rows`)."""

    query: Float[Tensor, "texts heads size"]
    wanted: Float[Tensor, "texts heads hidden"]
    """The query as each head's keys turn it: q_h W_h."""
    scores: Float[Tensor, "texts heads tokens"]
    """Of keys without their bias."""
    shares: Float[Tensor, "texts heads tokens"]
    pooled: Float[Tensor, "texts heads hidden"]
    """The states in these shares."""
    context: Float[Tensor, "texts heads size"]

    @property
    def joined(self) -> Float[Tensor, "texts 1 hidden"]:
        """The context, its heads side by side."""
        return self.context.flatten(1)[:, None]


def attend_once(asked: Question) -> OneQuery:
    """The answer, head by head."""
    size, states = asked.size, asked.states
    query = asked.query.squeeze(1).unflatten(1, (-1, size))
    keys, values = (layer.weight.unflatten(0, (-1, size)) for layer in (asked.key, asked.value))
    wanted = (query.transpose(0, 1) @ keys).transpose(0, 1)
    scores = wanted @ states.mT * size**-0.5
    shares = asked.dropout(masked(scores[:, :, None], asked.mask).softmax(-1).squeeze(2))
    pooled = shares @ states
    context = (pooled.transpose(0, 1) @ values.mT).transpose(0, 1)
    if asked.value.bias is not None:
        bias = asked.value.bias.unflatten(0, (-1, size))
        # What dropout leaves of the shares does not sum to 1.
        context = context + (
            shares.sum(-1, keepdim=True) * bias if asked.dropout.training else bias
        )
    return OneQuery(query, wanted, scores, shares, pooled, context)


def needs_tokens(asked: Question, hooks: int = 0) -> bool:
    """Whether keys and values must be asked for: a layer of another type, or with more hooks than the
    caller's own, may do more than its weight tells."""
    return not all(
        type(layer) is nn.Linear
        and "forward" not in vars(layer)
        and len(layer._forward_hooks) <= hooks
        and not layer._forward_pre_hooks
        for layer in (asked.key, asked.value)
    )


def attend_for_logits(asked: Question) -> Tensor:
    """`Attend` where nobody listens to keys and values: without them, if that is the same.

    In training too: dropout falls on the shares. A bias of keys then gets no gradient instead of one of
    rounding errors, which Adam would scale up to steps of full length.
    """
    if needs_tokens(asked):
        return attend_tokens(asked)
    return attend_once(asked).joined
