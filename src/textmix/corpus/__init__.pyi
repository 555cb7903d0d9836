from textmix.corpus.corpus import Corpus as Corpus
from textmix.corpus.tokens import Tokenizer as Tokenizer
