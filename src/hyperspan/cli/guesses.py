"""The right line for commands and options that people know from other tools, such as spaCy, scikit-learn and Hugging
Face, and for a model among the data."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from hyperspan.corpora.inputs import exists
from hyperspan.errors import InputError
from hyperspan.runtime.folders import is_model

COMMANDS = {
    "annotate": "predict apply infer inference extract tag ner parse process find run",
    "bulk": "batch batch-predict",
    "evaluate": "test eval score benchmark accuracy",
    "train": "fit finetune fine-tune learn",
    "init": "init-config config new",
    "suggest": "sample active-learning",
    "compare": "agreement iaa significance",
    "view": "show display displacy visualize visualise",
    "view --stats": "stats statistics describe count debug debug-data",
    "convert --fractions 80/10/10": "split train-test-split",
    "info": "models list list-models download validate",
    "model compact": "compact quantize prune",
    "model calibrate": "calibrate",
    "model weights": "weights explain coefficients",
    "--version": "version",
    "--help": "help",
}
"""Commands, and what other tools call them."""
OPTIONS = {
    "--model": "--model-path --model_path --model-name --model-name-or-path --model_name_or_path --pretrained --checkpoint",
    "--output": "--out --output-file --output-dir --output_dir --output-path --save --save-path",
    "--labels": "--type --types --label --entities --entity-types --classes",
    "--threshold": "--score-threshold --min-score --confidence --min-probability --cutoff",
    "--top-k": "--k --k-best --nbest --topk --beams --num-beams",
    "--device": "--gpu-id --gpu_id",
    "--device cuda": "--gpu --cuda --use-gpu",
    "--threads": "--n-jobs --n_jobs --jobs --num-threads --n-process",
    "--workers": "--num-workers --n-workers --processes",
    "--from": "--converter --input-format",
    "--format": "--to --output-format --output_format",
    "--seed": "--random-state --random_state --random-seed",
    "--count": "--limit --n --max-samples --num-samples",
    "--force": "--overwrite --overwrite-output-dir --overwrite_output_dir --yes",
    "--gold": "--reference --truth --y-true",
    "--predictions": "--pred --preds --hypothesis --y-pred",
    "--dtype": "--precision --fp16 --bf16",
    "--fractions": "--test-size --ratios",
    "--set training.batch_size=": "--batch-size --batch_size --per-device-train-batch-size --per_device_train_batch_size",
    "--set training.epochs=": "--epochs --num-epochs --num-train-epochs --num_train_epochs --n-epochs --max-epochs",
    "--set training.learning_rate=": "--lr --learning-rate --learning_rate",
    "--set data.train=": "--train --train-file --train_file --paths.train",
    "--set data.dev=": "--dev-file --validation-file --validation_file --paths.dev",
    "": "--input --data --file --text --texts --corpus --dataset --input-file --config",
}
"""Options, and what other tools call them; "" for what has no option, because it is given by its place. One that ends
in = is joined with its value."""
RENAMED = {word: right for table in (COMMANDS, OPTIONS) for right, words in table.items() for word in words.split()}


def right_line(arguments: Sequence[str], known: Collection[str], wrong: str) -> str | None:
    """The line that was meant by one with a wrong command or option, if that is known.

    >>> right_line(["predict", "a.txt"], (), "predict")
    'hyperspan annotate a.txt'
    >>> right_line(["train", "a.toml", "--batch-size", "8", "--gpu"], ["--set", "--device"], "--batch-size")
    'hyperspan train a.toml --set training.batch_size=8 --device cuda'
    """
    if wrong not in RENAMED:
        return None
    words = list(_renamed(arguments, known, wrong))
    lacking = [word for word in words if word.startswith("--") and known and word not in known]
    return None if lacking else f"hyperspan {shlex.join(words)}"


def _renamed(arguments: Sequence[str], known: Collection[str], wrong: str) -> Iterator[str]:
    """The words of a line, those that other tools use replaced; `known` are the options of the command."""
    waiting = ""
    for word in arguments:
        name, equals, value = word.partition("=")
        if waiting:
            yield waiting + word
            waiting = ""
        elif word == wrong or (name.startswith("--") and name not in known and name in RENAMED):
            *words, last = RENAMED[name].split() or [""]
            yield from words
            if last.endswith("="):
                waiting = "" if equals else last
                yield from [last + value] if equals else []
            else:
                yield from filter(None, (last, value))
        else:
            yield word


def check_no_model(line: str, data: Sequence[str], example: str = "test.data", least: int = 1) -> None:
    """Raise an error for a model among the data, with the line that was meant: its {model} and {data} are filled in.

    `least` is the number of words from which the first is no text, unless it is a folder.
    """
    named = next((name for name in data if is_model(name) and (len(data) >= least or Path(name).is_dir())), None)
    if named is not None:
        others = shlex.join(name for name in data if name != named) or example
        raise InputError(f"{named} is a model; write: hyperspan {line.format(data=others, model=named)}")


def check_not_one_word(given: Sequence[str]) -> None:
    """Raise an error for one word in place of texts: there is nothing to choose, so it is a mistyped name."""
    if (
        len(given) == 1
        and given[0].isascii()
        and len(given[0].split()) == 1
        and given[0] != "-"
        and not exists(given[0])
    ):
        raise InputError(f"{given[0][:100]} does not exist; name a file or a folder with texts")
