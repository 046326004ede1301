"""A BERT model as an OpenVINO graph, built by hand from its weights: neither torch nor transformers is needed for it.

The layers follow Devlin et al., arXiv:1810.04805, in the form of Hugging Face's ``BertModel``, whose names the weights
have; around them is what sentence-transformers adds: pooling and vectors of length 1.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

_MODULES = ("Transformer", "Pooling", "Normalize")
# As older and newer releases of sentence-transformers write it.
_POOLING = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}


class UnknownModelError(Exception):
    """The model is built in another way than this module knows; the text says how, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Bert:
    """The sizes and weights of a model."""

    dimension: int
    heads: int
    layers: int
    epsilon: float
    pooling: Literal["mean", "cls"]
    weights: dict[str, NDArray[np.float32]]

    def graph(self, openvino: Any) -> Any:
        """Return it as an ``openvino.Model``: int32 tokens and mask of shape (texts, longest) to one vector a text."""
        ops = openvino.opset15
        ids = ops.parameter([-1, -1], np.int32, name="ids")
        mask = ops.parameter([-1, -1], np.int32, name="mask")
        weight = _Weights(self.weights, self.epsilon, ops)
        present = ops.convert(mask, np.float32)
        unseen = ops.multiply(ops.subtract(np.float32(1), present), np.float32(-1e9))  # added before the softmax
        unseen = ops.unsqueeze(unseen, [1, 2])

        states = self._embedded(ids, weight, ops)
        for number in range(self.layers):
            layer = f"encoder.layer.{number}"
            attended = weight.dense(f"{layer}.attention.output.dense", self._attention(states, unseen, weight, layer))
            states = weight.norm(f"{layer}.attention.output.LayerNorm", ops.add(attended, states))
            wide = ops.gelu(weight.dense(f"{layer}.intermediate.dense", states), "erf")
            states = weight.norm(
                f"{layer}.output.LayerNorm", ops.add(weight.dense(f"{layer}.output.dense", wide), states)
            )
        return openvino.Model([self._pooled(states, present, ops)], [ids, mask], "bert")

    def _embedded(self, ids: Any, weight: _Weights, ops: Any) -> Any:
        words = ops.gather(weight("embeddings.word_embeddings.weight"), ids, 0)
        # A single text is of type 0 all through, so its vector is the same at each position.
        places = self.weights["embeddings.position_embeddings.weight"]
        places = places + self.weights["embeddings.token_type_embeddings.weight"][0]
        length = ops.gather(ops.shape_of(ids), [1], 0)
        return weight.norm("embeddings.LayerNorm", ops.add(words, ops.slice(places, [0], length, [1], [0])))

    def _attention(self, states: Any, unseen: Any, weight: _Weights, layer: str) -> Any:
        size = self.dimension // self.heads

        def heads(part: str) -> Any:
            one = weight.dense(f"{layer}.attention.self.{part}", states)
            return ops.transpose(ops.reshape(one, [0, 0, self.heads, size], special_zero=True), [0, 2, 1, 3])

        ops = weight.ops
        scores = ops.matmul(heads("query"), heads("key"), transpose_a=False, transpose_b=True)
        shares = ops.softmax(ops.add(ops.multiply(scores, np.float32(size**-0.5)), unseen), -1)
        mixed = ops.transpose(ops.matmul(shares, heads("value"), transpose_a=False, transpose_b=False), [0, 2, 1, 3])
        return ops.reshape(mixed, [0, 0, self.dimension], special_zero=True)

    def _pooled(self, states: Any, present: Any, ops: Any) -> Any:
        if self.pooling == "cls":
            vectors = ops.gather(states, 0, 1)
        else:
            weights = ops.unsqueeze(present, 2)
            total = ops.reduce_sum(ops.multiply(states, weights), [1])
            vectors = ops.divide(total, ops.reduce_sum(weights, [1]))
        return ops.normalize_l2(vectors, [1], 1e-12, "max")


@dataclass(frozen=True, slots=True)
class _Weights:
    """The weights as constants of a graph, by name, and the two operations that have some."""

    arrays: dict[str, NDArray[np.float32]]
    epsilon: float
    ops: Any

    def __call__(self, name: str) -> Any:
        return self.ops.constant(self.arrays[name], shared_memory=True)

    def dense(self, name: str, states: Any) -> Any:
        product = self.ops.matmul(states, self(f"{name}.weight"), transpose_a=False, transpose_b=True)
        return self.ops.add(product, self(f"{name}.bias"))

    def norm(self, name: str, states: Any) -> Any:
        even = self.ops.mvn(states, [-1], True, self.epsilon, "inside_sqrt")
        return self.ops.add(self.ops.multiply(even, self(f"{name}.weight")), self(f"{name}.bias"))


def read_bert(folder: Path, max_tokens: int) -> Bert:
    """Read a model whose texts have at most `max_tokens` tokens, special ones counted.

    Raises
    ------
    UnknownModelError
        If it has a part that is not known here: better another program for it than another vector.
    """
    config = _read(folder / "config.json")
    kind = config.get("model_type")
    if kind != "bert":
        raise UnknownModelError(f"the model is of the kind {kind}, not bert")
    wanted = {"hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False}
    for key, value in wanted.items():
        if config.get(key, value) != value:
            raise UnknownModelError(f"the model has the {key} {config[key]}")
    if _read(folder / "sentence_bert_config.json").get("do_lower_case"):
        raise UnknownModelError("the model wants its texts in small letters")
    if _read(folder / "config_sentence_transformers.json").get("default_prompt_name"):
        raise UnknownModelError("the model wants a prompt before each text")
    if max_tokens > config["max_position_embeddings"]:
        raise UnknownModelError(f"the model takes {config['max_position_embeddings']} tokens, not {max_tokens}")
    return Bert(
        dimension=config["hidden_size"],
        heads=config["num_attention_heads"],
        layers=config["num_hidden_layers"],
        epsilon=config.get("layer_norm_eps", 1e-12),
        pooling=_pooling(folder),
        weights=_read_weights(folder / "model.safetensors"),
    )


def _pooling(folder: Path) -> Literal["mean", "cls"]:
    listed = folder / "modules.json"
    modules = json.loads(listed.read_text("utf-8")) if listed.is_file() else []
    kinds = tuple(module["type"].rpartition(".")[2] for module in modules)
    if kinds not in (_MODULES, _MODULES[:2]) or modules[0]["path"]:
        raise UnknownModelError(f"the model has the parts {', '.join(kinds) or 'of no list'}")
    options = _read(folder / modules[1]["path"] / "config.json")
    modes = [options["pooling_mode"]] if "pooling_mode" in options else []
    modes += [_POOLING.get(key, key) for key, value in options.items() if key.startswith("pooling_mode_") and value]
    if modes == ["mean"]:
        return "mean"
    if modes == ["cls"]:
        return "cls"
    raise UnknownModelError(f"the model pools by {', '.join(map(str, modes)) or 'nothing that is said'}")


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def _read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    if not path.is_file():
        raise UnknownModelError("the model's weights are in no single file model.safetensors")
    from safetensors.numpy import load_file

    return {name.removeprefix("bert."): array.astype(np.float32, copy=False) for name, array in load_file(path).items()}
