"""Validate a configuration as a whole: whether its values are compatible. Models and encoders state their
requirements."""

from __future__ import annotations

from collections.abc import Iterable

from hyperspan.config import Config, DataConfig
from hyperspan.errors import InputError
from hyperspan.nn.encoder import Encoder
from hyperspan.nn.model import Model
from hyperspan.nn.recognizer import Scorer
from hyperspan.plugins import ENCODERS, MODELS
from hyperspan.text.tokens import TOKENIZERS


def validate(config: Config) -> None:
    """Raise an InputError if values of a configuration are incompatible; no file is read.

    >>> validate(Config().override(["model.kind=linear-chain", "model.max_width=6"]))
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: model.max_width is 6, but model.kind linear-chain cannot limit mentions; set it to "n"
    """
    config = config.settled().completed()
    _check_corpora(config.data)
    model = config.model
    _check_name("model.kind", model.kind, MODELS)
    kind: type[Model] | type[Scorer] = MODELS[model.kind]
    _check_name("encoder.kind", config.encoder.kind, ENCODERS)
    _check_name("model.tokenizer", model.tokenizer, TOKENIZERS)
    encoder: type[Encoder] = ENCODERS[config.encoder.kind]
    if kind.abilities.vectors and not encoder.abilities.vectors:
        others = ", ".join(name for name, other in MODELS.working() if not other.abilities.vectors)
        raise InputError(
            f"model.kind {model.kind} reads vectors of words, but encoder.kind is {config.encoder.kind}; set it to neural, "
            f"or choose one of {others}"
        )
    if model.max_width != "n" and not kind.abilities.spans:
        raise InputError(
            f'model.max_width is {model.max_width}, but model.kind {model.kind} cannot limit mentions; set it to "n"'
        )
    if not config.calibration.is_empty and not kind.abilities.calibrates:
        raise InputError(
            f"calibration has values by label, but model.kind {model.kind} has one temperature for all; leave them out"
        )
    if config.calibration.discontinuous and not kind.abilities.gaps:
        raise InputError(
            f"calibration.discontinuous is {config.calibration.discontinuous}, but model.kind {model.kind} finds no "
            "discontinuous mentions; leave it out"
        )
    if model.discontinuous == "hull" and kind.abilities.gaps:
        raise InputError(
            f'model.discontinuous is hull, but model.kind {model.kind} learns the parts of mentions; set it to "drop"'
        )
    kind.check(config)
    if kind.abilities.spans and not encoder.abilities.spans:
        raise InputError(
            f"model.kind {model.kind} scores spans, but encoder.kind {config.encoder.kind} encodes words alone; choose another "
            "model.kind or encoder.kind"
        )
    encoder.check(config)
    _check_distillation(config)
    if config.training.start:
        check_warm_start(config)


def _check_corpora(data: DataConfig) -> None:
    for key, corpora in (("data.train", data.train_corpora), ("data.dev", data.dev_corpora)):
        for place, corpus in enumerate(corpora):
            if not corpus.path:
                raise InputError(f"{key}[{place}] has no path; name a file of annotated sentences there")
            names = [name for name in corpus.labels.values() if name]
            if corpus.annotated and (missing := sorted(set(names) - set(corpus.annotated))):
                raise InputError(
                    f"{key}[{place}].labels gives the name {missing[0]}, which its annotated does not list; add it there"
                )
    if repeated := [corpus.path for corpus in data.dev_corpora if corpus.repeat > 1]:
        raise InputError(f"data.dev repeats {repeated[0]}, but dev is read once; leave repeat out")


def _check_name(key: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise InputError(f"{key} is {value!r}, but must be one of {', '.join(known)}")


def check_start(config: Config) -> None:
    """Raise an InputError if the kind of a model, or of the one it starts from, does not support warm starts."""
    if not issubclass(MODELS[config.model.kind], Scorer):
        raise InputError(
            f"model.kind is {config.model.kind}, but only models of an encoder, a scorer and a structure, such as segmental, can"
        )
    if not ENCODERS[config.encoder.kind].abilities.warm_start:
        raise InputError(f"encoder.kind is {config.encoder.kind}, but only neural encoders can be taken over")


def check_warm_start(config: Config) -> None:
    """Raise an InputError if a model of this configuration cannot start from another one."""
    start = config.training.start
    try:
        check_start(config)
    except InputError as error:
        raise InputError(f'training.start is {start}, but {error}; set training.start = ""') from None
    if config.distillation.teachers:
        raise InputError(
            f"training.start is {start} and distillation.teacher is {', '.join(config.distillation.teachers)}, but a student begins with what its "
            "teacher knows; leave one of them out"
        )


def _check_distillation(config: Config) -> None:
    """Check distillation: a student learns from a teacher's hyperedges."""
    given = config.distillation
    names = ", ".join(given.teachers)
    if not names:
        if given.text:
            raise InputError(
                f"distillation.text is {given.text}, but there is no distillation.teacher to say what is in it; name a model"
            )
        return
    if not MODELS[config.model.kind].abilities.distils:
        raise InputError(
            f"distillation.teacher is {names}, but a model of kind {config.model.kind} cannot have one; set model.kind to segmental "
            "or discontinuous"
        )
    if given.copy_embeddings and config.words.vectors:
        raise InputError(
            "words.vectors are read from a file, but distillation.copy_embeddings takes over the teacher's; "
            'set words.vectors = "", or distillation.copy_embeddings = false'
        )
    if config.transformer.name and given.copy_embeddings:
        raise InputError(
            f"transformer.name is {config.transformer.name}, but a student that takes over its teacher's words reads no encoder of its "
            "own; set distillation.copy_embeddings = false"
        )
    if config.encoder.kind != "neural" and given.copy_embeddings:
        raise InputError(
            f"encoder.kind is {config.encoder.kind}, which has no word vectors to take over from a teacher; "
            "set distillation.copy_embeddings = false"
        )
