"""Tiny random sequence classifiers with real fast tokenizers, and examples in words they know.

Every folder made here loads offline through the two `Auto` classes. Tokenizers are built with the class
their architecture uses, so normalisation, offsets and pair templates are those of the real models; the
weights are random but well scaled, so that logits differ between texts and no gradient is degenerate.
The same arguments give the same bytes.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers as splitters
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import BpeTrainer, WordPieceTrainer
from torch import nn
from transformers import (
    AlbertTokenizer,
    AutoConfig,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    BertTokenizer,
    DebertaV2Tokenizer,
    DistilBertTokenizer,
    MPNetTokenizer,
    PreTrainedTokenizerFast,
    RobertaTokenizer,
)

from spanfluence.units import Example, Span

ARCHITECTURES: tuple[str, ...] = (
    "bert",
    "roberta",
    "distilbert",
    "mpnet",
    "electra",
    "deberta-v2",
    "albert",
    "modernbert",
)
BYTE_LEVEL: tuple[str, ...] = ("roberta", "modernbert")

NOUNS = (
    "food",
    "service",
    "pizza",
    "soup",
    "waiter",
    "pasta",
    "salad",
    "terrace",
    "wine list",
    "dessert",
    "café",
    "crème brûlée",
)
OPINIONS = {
    "positive": ("delicious", "friendly", "great", "very tasty", "worth the wait", "spotless"),
    "neutral": ("average", "on the corner", "as described", "open until late", "fine, I guess"),
    "negative": ("awful", "cold", "far too salty", "rude", "a disappointment", "never again"),
}
FRAMES = (
    "The {a} was {x}.",
    "We thought the {a} was {x}!",
    "The {a} was {x}, but the {b} was {y}.",
    "My {a}: {x}. The {b}: {y}.",
    "Honestly, the {a} is {x} and the {b} {y} when we were there.",
)
REMARKS = (
    "so good 🍕🔥",
    "naïve staff 😀",
    "jalapen\u0303o tacos \U0001f32e",
    "I'd come back (twice)",
)


def corpus() -> list[str]:
    """The sentences from which every tokenizer learns its pieces."""
    words = cycle([word for group in OPINIONS.values() for word in group])
    nouns = cycle(NOUNS)
    sentences = [
        frame.format(a=next(nouns), b=next(nouns), x=next(words), y=next(words))
        for _ in range(40)
        for frame in FRAMES
    ]
    return sentences + list(REMARKS)


def make_examples(
    n: int,
    seed: int,
    *,
    pairs: bool | None = None,
    labels: Sequence[str] = ("negative", "neutral", "positive"),
) -> list[Example]:
    """`n` labelled texts with one or two spans each.

    `pairs=True` gives each a context, `False` gives none, `None` gives every other one a context.
    """
    rng = random.Random(seed)
    return [
        _example(f"{seed}-{i}", rng, labels, bool(i % 2) if pairs is None else pairs)
        for i in range(n)
    ]


def _example(name: str, rng: random.Random, labels: Sequence[str], pair: bool) -> Example:
    a, b = rng.sample(NOUNS, 2)
    x, y = (rng.choice(OPINIONS[rng.choice(sorted(OPINIONS))]) for _ in range(2))
    frame = rng.choice(FRAMES)
    text = frame.format(a=a, b=b, x=x, y=y)
    first = text.index(x, text.index(a) + len(a))
    spans = [Span(first, first + len(x))]
    if "{y}" in frame and rng.random() < 0.5:
        second = text.index(y, text.index(b, spans[0].end) + len(b))
        spans.append(Span(second, second + len(y)))
    return Example(
        text=text,
        label=rng.choice(list(labels)),
        context=a if pair else None,
        spans=tuple(spans),
        id=name,
    )


def make_tiny(
    folder: Path | str,
    architecture: str,
    *,
    labels: Sequence[str] = ("negative", "neutral", "positive"),
    layers: int = 3,
    hidden: int = 16,
    heads: int = 2,
    intermediate: int = 24,
    seed: int = 0,
    mask_token: bool = True,
    max_length: int = 64,
) -> Path:
    """Write a random classifier of `architecture` and its tokenizer into `folder`."""
    folder = Path(folder)
    tokenizer = make_tokenizer(architecture, mask_token=mask_token, max_length=max_length)
    config = AutoConfig.for_model(
        architecture,
        **_sizes(architecture, layers, hidden, heads, intermediate, max_length),
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        cls_token_id=tokenizer.cls_token_id,
        sep_token_id=tokenizer.sep_token_id,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    model = AutoModelForSequenceClassification.from_config(config)
    randomise(model, seed)
    balance(model.eval(), tokenizer)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_tiny_reader(
    folder: Path | str, architecture: str = "bert", *, seed: int = 0, max_length: int = 64
) -> Path:
    """Write a random question-answering model and its tokenizer into `folder`."""
    folder = Path(folder)
    tokenizer = make_tokenizer(architecture, max_length=max_length)
    config = AutoConfig.for_model(
        architecture,
        **_sizes(architecture, 2, 16, 2, 24, max_length),
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
    )
    model = AutoModelForQuestionAnswering.from_config(config)
    randomise(model, seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _sizes(
    architecture: str, layers: int, hidden: int, heads: int, intermediate: int, max_length: int
) -> dict[str, Any]:
    """Configuration of one architecture; dropout is on everywhere it exists."""
    if architecture == "distilbert":
        return {
            "dim": hidden,
            "n_layers": layers,
            "n_heads": heads,
            "hidden_dim": intermediate,
            "max_position_embeddings": max_length,
            "dropout": 0.1,
            "attention_dropout": 0.1,
            "seq_classif_dropout": 0.2,
        }
    sizes: dict[str, Any] = {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": intermediate,
        "max_position_embeddings": max_length,
    }
    return sizes | _particulars(architecture, max_length)


def _particulars(architecture: str, max_length: int) -> dict[str, Any]:
    """What sets an architecture apart, as in its published checkpoints."""
    dropout = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
    match architecture:
        case "roberta":  # positions start after the padding index 1
            return dropout | {"max_position_embeddings": max_length + 2, "type_vocab_size": 1}
        case "mpnet":
            return dropout | {"max_position_embeddings": max_length + 2}
        case "electra":
            return dropout | {"embedding_size": 12}
        case "albert":
            return dropout | {"embedding_size": 12, "classifier_dropout_prob": 0.1}
        case "deberta-v2":
            return dropout | {
                "relative_attention": True,
                "pos_att_type": ["p2c", "c2p"],
                "position_biased_input": False,
                "position_buckets": max_length // 2,
                "norm_rel_ebd": "layer_norm",
                "share_att_key": True,
                "type_vocab_size": 0,
                "pooler_dropout": 0.1,
            }
        case "modernbert":  # a window so small that it cuts these short texts
            return {
                "local_attention": 8,
                "attention_dropout": 0.1,
                "embedding_dropout": 0.1,
                "mlp_dropout": 0.1,
                "classifier_dropout": 0.1,
            }
    return dropout


@torch.no_grad()
def randomise(model: nn.Module, seed: int) -> None:
    """Seeded weights of unit gain, jittered norms and biases; padding embeddings stay zero."""
    generator = torch.Generator().manual_seed(seed)

    def noise(tensor: torch.Tensor) -> torch.Tensor:
        return torch.randn(tensor.shape, generator=generator)

    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            if name == "bias":
                parameter.copy_(0.2 * noise(parameter))
            elif isinstance(module, nn.LayerNorm):
                parameter.copy_(1 + 0.2 * noise(parameter))
            elif isinstance(module, nn.Embedding):
                parameter.copy_(noise(parameter))
                if module.padding_idx is not None:
                    parameter[module.padding_idx] = 0
            else:
                parameter.copy_(1.3 * noise(parameter) / math.sqrt(parameter.shape[-1]))


@torch.no_grad()
def balance(model: Any, tokenizer: Any) -> None:
    """Standardise the logits over some texts, so that every label is predicted now and then."""
    rows = [
        tokenizer(
            *((example.context, example.text) if example.context else (example.text,)),
            truncation="only_second" if example.context else True,
            return_tensors="pt",
        )
        for example in make_examples(40, 0)
    ]
    logits = torch.cat([model(**row).logits for row in rows])
    last = [module for module in model.modules() if isinstance(module, nn.Linear)][-1]
    deviation = logits.std(0)
    last.weight.div_(deviation[:, None])
    last.bias.sub_(logits.mean(0)).div_(deviation)


# The names of the roles, and the tokens of each tokenizer family in order of their ids.
ROLES = ("pad", "unk", "cls", "sep", "mask")
SPECIALS: dict[str, dict[str, str]] = {
    "bert": dict(zip(ROLES, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), strict=True)),
    "mpnet": {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "[UNK]", "mask": "<mask>"},
    "roberta": {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"},
    "albert": dict(zip(ROLES, ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"), strict=True)),
    "deberta-v2": {
        "pad": "[PAD]",
        "cls": "[CLS]",
        "sep": "[SEP]",
        "unk": "[UNK]",
        "mask": "[MASK]",
    },
    "modernbert": {
        "unk": "[UNK]",
        "cls": "[CLS]",
        "sep": "[SEP]",
        "pad": "[PAD]",
        "mask": "[MASK]",
    },
}
CLASSES: dict[str, Any] = {
    "bert": BertTokenizer,
    "electra": BertTokenizer,
    "distilbert": DistilBertTokenizer,
    "mpnet": MPNetTokenizer,
    "roberta": RobertaTokenizer,
    "albert": AlbertTokenizer,
    "deberta-v2": DebertaV2Tokenizer,
}


def make_tokenizer(architecture: str, *, mask_token: bool = True, max_length: int = 64) -> Any:
    """A fast tokenizer of the architecture's own class, trained on `corpus()`."""
    family = SPECIALS.get(architecture, SPECIALS["bert"])
    roles = {role: token for role, token in family.items() if mask_token or role != "mask"}
    named = {f"{role}_token": token for role, token in roles.items()}
    if architecture == "modernbert":
        backend = _modernbert_backend(list(roles.values()))
        named["mask_token"] = AddedToken("[MASK]", lstrip=True) if mask_token else None  # type: ignore[assignment]
        return PreTrainedTokenizerFast(
            tokenizer_object=backend,
            model_input_names=["input_ids", "attention_mask"],
            model_max_length=max_length,
            **named,
        )
    cls = CLASSES[architecture]
    pieces = _pieces(cls, list(roles.values()), roles["unk"])
    tokenizer = cls(**pieces, **{"mask_token": None} | named, model_max_length=max_length)
    if mask_token:
        return tokenizer
    return PreTrainedTokenizerFast(  # the classes above put a mask token back when they are loaded
        tokenizer_object=tokenizer.backend_tokenizer,
        model_input_names=tokenizer.model_input_names,
        model_max_length=max_length,
        **named,
    )


def _pieces(cls: Any, specials: list[str], unknown: str) -> dict[str, Any]:
    """The vocabulary (and merges) a tokenizer class is made from, trained under its own rules."""
    rules = cls().backend_tokenizer
    if cls.model is models.WordPiece:
        return {"vocab": _wordpieces(rules, specials, unknown)}
    trained = _trained_bpe(rules, specials, byte_level=cls.model is models.BPE)
    if cls.model is models.BPE:
        merges = json.loads(trained.to_str())["model"]["merges"]
        return {"vocab": trained.get_vocab(), "merges": [tuple(merge) for merge in merges]}
    return {"vocab": list(_unigrams(trained, specials)), "unk_id": specials.index(unknown)}


def _wordpieces(rules: Tokenizer, specials: list[str], unknown: str) -> dict[str, int]:
    """WordPiece vocabulary; letters are listed first, since the trainer numbers them in hash order."""
    letters = {c for text in corpus() for c in rules.normalizer.normalize_str(text)} - {" "}
    inner = [f"##{letter}" for letter in sorted(letters)]
    learner = Tokenizer(models.WordPiece(unk_token=unknown))
    learner.normalizer, learner.pre_tokenizer = rules.normalizer, rules.pre_tokenizer
    trainer = WordPieceTrainer(
        vocab_size=220, special_tokens=specials + inner, show_progress=False, min_frequency=2
    )
    learner.train_from_iterator(corpus(), trainer)
    vocabulary: dict[str, int] = learner.get_vocab()
    return vocabulary


def _trained_bpe(rules: Tokenizer, specials: list[str], *, byte_level: bool) -> Tokenizer:
    learner = Tokenizer(models.BPE())
    if rules.normalizer is not None:
        learner.normalizer = rules.normalizer
    learner.pre_tokenizer = rules.pre_tokenizer
    trainer = BpeTrainer(
        vocab_size=380 if byte_level else 200,
        special_tokens=specials,
        initial_alphabet=splitters.ByteLevel.alphabet() if byte_level else [],
        show_progress=False,
        min_frequency=2,
    )
    learner.train_from_iterator(corpus(), trainer)
    return learner


def _unigrams(trained: Tokenizer, specials: list[str]) -> Iterator[tuple[str, float]]:
    """Pieces with their log frequency: the library's own Unigram training is not repeatable."""
    counts = Counter(token for text in corpus() for token in trained.encode(text).tokens)
    total = sum(counts.values())
    for piece, _ in sorted(trained.get_vocab().items(), key=lambda item: item[1]):
        yield piece, 0.0 if piece in specials else math.log((counts[piece] + 0.5) / total)


def _modernbert_backend(specials: list[str]) -> Tokenizer:
    """ModernBERT has no tokenizer class: this is the layout of its published tokenizer file."""
    rules = Tokenizer(models.BPE())
    rules.normalizer = normalizers.NFC()
    rules.pre_tokenizer = splitters.ByteLevel(add_prefix_space=False, trim_offsets=True)
    backend = _trained_bpe(rules, specials, byte_level=True)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return backend
