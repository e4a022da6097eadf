"""Split raw text into sentences and tokens, with exact character offsets."""

from hyperspan.text.sentences import split_text
from hyperspan.text.tokens import TOKENIZERS, Tokenizer, tokenize

__all__ = ["TOKENIZERS", "Tokenizer", "split_text", "tokenize"]
