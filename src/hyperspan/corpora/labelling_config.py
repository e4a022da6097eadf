"""Label Studio's labelling configuration: which regions a project has.

<View><Labels name="label" toName="text"><Label value="Person"/></Labels><Text name="text" value="$text"/></View>
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from hyperspan.corpora.markup import tree_of
from hyperspan.errors import InputError, quoted

_KEY = re.compile(r"\$([^\s${}]+)")


@dataclass(frozen=True)
class LabellingConfig:
    """The text of a project, and its labels."""

    to_name: str
    """The name of the <Text>."""
    key: str
    """The key of the text in the data of a task."""
    labels: dict[str, tuple[str, str]]
    """By the labels of a model: the name of the <Labels>, and the label as regions spell it."""


def read_labelling_config(xml: str, known: Iterable[str]) -> LabellingConfig:
    """Find the first <Text> that has <Labels>, and match them with the labels known to a model.

    A label matches by its value or its alias. Without an equal one, case and punctuation do not count.

    >>> labels = '<Labels name="ner" toName="t"><Label value="PER" alias="person"/><Label value="Cell type"/></Labels>'
    >>> config = f'<View>{labels}<Text name="t" value="$text"/></View>'
    >>> read_labelling_config(config, ["person", "cell_type", "place"]).labels
    {'person': ('ner', 'person'), 'cell_type': ('ner', 'Cell type')}
    """
    root = tree_of(xml, "the labelling configuration")
    named = {tag.get("name"): tag for tag in root.iter() if tag.tag not in ("Labels", "Label")}
    controls = [(control, control.get("toName", "").split(",")) for control in root.iter("Labels")]
    targets = [named[name] for _, names in controls for name in names if name in named]
    text = next((target for target in targets if target.tag == "Text"), None)
    if text is None:
        seen = ", ".join(dict.fromkeys(f"<{target.tag}>" for target in targets)) or "nothing"
        raise InputError(
            f"the <Labels> of the labelling configuration are for {seen}, but they must be for a <Text>; write "
            '<Labels name="label" toName="text"> and <Text name="text" value="$text"/>'
        )
    to_name, key = text.get("name", ""), _KEY.fullmatch(text.get("value", ""))
    if key is None or text.get("valueType", "text") != "text" or text.get("encoding", "none") != "none":
        raise InputError(
            f'the text of <Text name="{to_name[:60]}"> must be in the data of a task; write value="$text", and neither '
            "valueType nor encoding"
        )
    spelled = _spelled(control for control, names in controls if to_name in names)
    alike = {_folded(name): label for name, label in reversed(spelled.items())}
    matches = {label: spelled.get(label, alike.get(_folded(label))) for label in known}
    labels = {label: match for label, match in matches.items() if match is not None}
    if not labels:
        raise InputError(
            f"the labels of the configuration, {listed(spelled)}, are none of the model, {listed(matches)}; rename them, "
            'or give them an alias, as in <Label value="PER" alias="person"/>'
        )
    return LabellingConfig(to_name, key[1], labels)


def _spelled(controls: Iterable[Element]) -> dict[str, tuple[str, str]]:
    """By value and by alias: the name of the <Labels>, and the label as regions spell it: the alias if there is one."""
    spelled: dict[str, tuple[str, str]] = {}
    for control in controls:
        for label in control.iter("Label"):
            value, alias = label.get("value", ""), label.get("alias", "")
            for name in filter(None, (value, alias)):
                spelled.setdefault(name, (control.get("name", ""), alias or value))
    return spelled


def _folded(label: str) -> str:
    return "".join(filter(str.isalnum, label.casefold())) or label


def listed(labels: Iterable[str]) -> str:
    """Labels for messages, the first ten of them."""
    names = [quoted(label) for label in labels]
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "") or "none"
