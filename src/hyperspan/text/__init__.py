"""Raw text to sentences and tokens, with exact character offsets."""

from hyperspan.text.sentences import split_text
from hyperspan.text.tokenize import TOKENIZERS, tokenize

__all__ = ["TOKENIZERS", "split_text", "tokenize"]
