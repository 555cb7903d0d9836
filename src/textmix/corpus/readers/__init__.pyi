from textmix.corpus.readers.reader import DocumentReader as DocumentReader
from textmix.corpus.readers.report import Batch as Batch
from textmix.corpus.readers.report import InputError as InputError
from textmix.corpus.readers.report import ReadReport as ReadReport
from textmix.corpus.readers.report import SkippedRow as SkippedRow
