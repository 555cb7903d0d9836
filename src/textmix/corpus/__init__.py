"""Texts become a sparse matrix of word counts here, and nowhere else."""

from textmix.corpus.corpus import Corpus
from textmix.corpus.tokens import Tokenizer

__all__ = ["Corpus", "Tokenizer"]
