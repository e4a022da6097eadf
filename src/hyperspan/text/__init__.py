"""Raw text to sentences and tokens, with exact character offsets."""

from hyperspan.text.sentences import Piece, split_text
from hyperspan.text.tokenize import TOKENIZERS, tokenize

__all__ = ["TOKENIZERS", "Piece", "split_text", "tokenize"]
