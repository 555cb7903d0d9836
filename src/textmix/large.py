"""Clustering texts that do not fit in memory, or on a cluster of machines: the counts are on disk.

Texts are counted into a work folder, the counts are sampled partition by partition, every document is scored, and
the results are written while the texts are read once more. A run that broke off goes on from its work folder.
"""

from __future__ import annotations

import errno
import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.base import clone

from textmix.corpus.disk import DiskCorpus
from textmix.corpus.partition_files import DamagedError
from textmix.corpus.partitions import partition_rows, partition_size
from textmix.corpus.readers import DocumentReader, ReadReport
from textmix.corpus.readers.unchanged import can_be_read_again, describe_files
from textmix.corpus.tokens import Tokenizer
from textmix.engines.engine import make_engine
from textmix.estimators.gibbs_mixture import GibbsMixture
from textmix.inference.checkpoint import FileCheckpoint, Shape
from textmix.inference.freed import return_freed_memory
from textmix.inference.parallel_fit import Saved
from textmix.inference.progress import Progress, ProgressTask
from textmix.memory import ITSELF, SMALLEST_MEMORY, compile_apart, estimate_memory, is_compiled, threads_within
from textmix.metrics import agreement
from textmix.results.folder import check_destination, read_manifest, write_run
from textmix.results.large_run import LargeRun
from textmix.results.mixture import FittedMixture, plain_parameters
from textmix.results.run import describe_input
from textmix.results.score_files import ScoreFiles, Scorers, score_partition
from textmix.results.work_folder import OtherRunError, WorkFolder
from textmix.saved_runs import LargeClustering
from textmix.text_clusterer import TextClusterer, check_words

_BATCH_SIZE = 4096  # texts read at a time
_WITHOUT_EFFECT = ("engine", "client", "n_jobs", "progress")  # on the result
_MISHAPS = (ValueError, OSError, ImportError, RuntimeError, MemoryError)


@dataclass(frozen=True)
class Plan:
    """Where a large run writes and works, how many bytes it may take, and what to do with what is there already."""

    out: Path
    work: Path
    memory: int | None = None
    resume: bool = False
    force: bool = False
    escape_formulas: bool = True  # in CSV


class Outcome(NamedTuple):
    """What came of a large run."""

    clustering: LargeClustering
    report: ReadReport
    scores: dict[str, float] | None  # agreement with the labels beside the texts, if there are any


class UnfinishedError(ValueError):
    """A run that broke off, and how to go on."""


def cluster_large(
    files: Sequence[str],
    columns: Mapping[str, str | None],
    clusterer: TextClusterer,
    plan: Plan,
    *,
    progress: bool | None,
    tell: Callable[[str], None],
) -> Outcome | None:
    """Cluster the texts of files and write the results; None if an earlier run had finished all of it.

    Ctrl-C and failures leave the work folder as it is, once the texts are counted.
    """
    clusterer = _for_counts_on_disk(clusterer)
    _check_plan(plan)
    if clusterer.engine == "dask":  # what is wrong with it is better said now than after the texts are counted
        engine = make_engine("dask", clusterer.n_jobs, clusterer.client)
        if clusterer.client is not None:
            with engine:
                pass
    work = WorkFolder(plan.work)
    work.hold()
    try:
        return _begin_or_go_on(files, columns, clusterer, plan, work, progress, tell)
    finally:
        work.release()


def _begin_or_go_on(
    files: Sequence[str],
    columns: Mapping[str, str | None],
    clusterer: TextClusterer,
    plan: Plan,
    work: WorkFolder,
    progress: bool | None,
    tell: Callable[[str], None],
) -> Outcome | None:
    has_run = work.has_run()
    can_go_on = all(can_be_read_again(name) for name in files)
    if plan.resume and not can_go_on:
        raise ValueError("standard input and pipes cannot be read again: --resume needs files")
    given = {name: value for name, value in columns.items() if value is not None}
    with DocumentReader(files, batch_size=_BATCH_SIZE, **given) as reader:
        source = _describe_source(reader, columns, clusterer.make_tokenizer())
        made_of = _digest(source, clusterer)
        identity = {"run": work.run} if has_run else {"made_of": made_of}
        if plan.resume and _holds_run(plan.out, identity):
            if has_run:
                work.remove()
            tell(f'the run in "{plan.out}" was finished already')
            return None
        check_destination(plan.out, force=plan.force)
        if has_run and not plan.resume and not plan.force:
            ways = "go on with --resume, or start anew with --force" if can_go_on else "start anew with --force"
            raise ValueError(f'"{plan.work}" is left from a run that was not finished; {ways}')
        seconds: dict[str, float] = {}
        if plan.memory is not None and not is_compiled():
            with _timed(seconds, "compiling"):
                compile_apart()
        if has_run and plan.resume:
            work.go_on(source)
        else:
            if plan.resume:
                tell(f'there is nothing to resume in "{plan.work}"; this run starts from the beginning')
            work.remove()
            work.begin(source)
        try:
            shown = Progress(progress)
            return _Run(reader, columns, source, made_of, clusterer, plan, work, shown, seconds, tell).finish()
        except BaseException as error:
            if isinstance(error, DamagedError):
                work.forget_corpus()
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                error = OSError(f'no space left on the disk of "{plan.work}" (--work) or of "{plan.out}" (--out)')
            if not (work.has_corpus or work.has_checkpoint) or not can_go_on:
                work.remove()
                if isinstance(error, KeyboardInterrupt) and not can_go_on:
                    raise KeyboardInterrupt("nothing is kept, since the texts cannot be read again") from error
                raise error
            hint = f'what was done is kept in "{plan.work}": go on with --resume'
            if describe_files(reader.report.files) != source["files"]:
                hint = "start anew with the files as they are now: --force"
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(hint) from error
            if isinstance(error, _MISHAPS) and not isinstance(error, OtherRunError):
                raise UnfinishedError(f"{error}; {hint}") from error
            raise


@dataclass
class _Run:
    """One run, from what is in the work folder to the results."""

    reader: DocumentReader
    columns: Mapping[str, str | None]
    source: dict[str, Any]
    made_of: str
    clusterer: TextClusterer
    plan: Plan
    work: WorkFolder
    progress: Progress
    seconds: dict[str, float]  # what took how long
    tell: Callable[[str], None]

    def finish(self) -> Outcome:
        with _timed(self.seconds, "counting"):
            corpus = self._counts()
        return_freed_memory()
        n_with_words = corpus.n_documents - corpus.n_empty_documents
        check_words(corpus.n_documents, n_with_words)
        model: GibbsMixture = self.clusterer.make_model(n_with_words, on_disk=True)
        n_clusters = _max_clusters(model, corpus)
        n_jobs = 1 if model.engine == "serial" else model.n_jobs
        if self.plan.memory is not None:
            needed = estimate_memory(corpus, n_clusters, compared=self.columns.get("label") is not None)
            self._check_memory(needed, self.plan.memory, corpus, n_clusters)
            n_jobs = threads_within(self.plan.memory - needed, corpus, n_jobs)
        model.n_jobs = n_jobs
        with _timed(self.seconds, "sampling"):
            self._sample(model, corpus)
        return_freed_memory()
        mixture = model.mixture_
        scores = ScoreFiles(self.work.path, corpus.n_documents, corpus.n_partitions)
        with _timed(self.seconds, "scoring"):
            self._score(mixture, corpus, scores, model.n_jobs)
        return_freed_memory()
        run = LargeRun(mixture, corpus, model.outliers_, scores, self.plan.escape_formulas)
        outcome = self._write(run, model)
        self.work.remove()
        return outcome

    def _check_memory(self, needed: int, memory: int, corpus: DiskCorpus, n_clusters: int) -> None:
        """Raise ValueError if vocabulary and statistics would not fit in memory; say so if they might not."""
        if needed <= memory:
            return
        problem = (
            f"{corpus.n_documents:,} texts with {corpus.n_words:,} distinct words and up to {n_clusters:,} clusters "
            f"need some {needed / 1e6:,.0f} MB, but --memory is {memory / 1e6:,.0f} MB"
        )
        if self.clusterer.init != "online":
            raise ValueError(
                f"{problem}; more --memory helps, fewer --clusters, --init online, which opens few, or leaving out "
                "rare words, which are then counted anew: --min-df 5 --force"
            )
        self.tell(f"{problem}; an online start opens fewer clusters as a rule, so the run goes on")

    def _counts(self) -> DiskCorpus:
        """The counts: those that are there already, or made anew."""
        if self.work.has_corpus:
            try:
                corpus = DiskCorpus.open(self.work.corpus)
            except ValueError:  # damaged
                pass
            else:
                if corpus.source == self.source:
                    return corpus
        memory = None if self.plan.memory is None else self.plan.memory - ITSELF
        with ExitStack() as stack:
            tasks: dict[str, ProgressTask] = {}

            def tick(stage: str, n_documents: int) -> None:
                if stage not in tasks:
                    stack.close()  # the stage before
                    tasks[stage] = stack.enter_context(self.progress.task(_STAGES[stage], total=0))
                tasks[stage].advance(n_documents)

            return DiskCorpus.build(
                self.work.corpus,
                self.reader,
                self.clusterer.make_tokenizer(),
                memory=memory,
                source=self.source,
                replace=True,
                tick=tick,
            )

    def _sample(self, model: GibbsMixture, corpus: DiskCorpus) -> None:
        parameters = plain_parameters(model)
        settings = {
            "model": type(model).__name__,
            **{name: value for name, value in parameters.items() if name not in _WITHOUT_EFFECT},
        }
        self.work.keep_settings(settings)
        sizes = [partition_size(corpus.n_documents, corpus.n_partitions, part) for part in range(corpus.n_partitions)]
        shape = Shape(sizes, _max_clusters(model, corpus))
        checkpoint = _Checkpoint(self.work.path, {"source": self.source, "settings": settings}, shape, self.tell)
        with warnings.catch_warnings():
            # Samplers answer Ctrl-C with a warning and what they have reached. Here it is in the checkpoint.
            warnings.filterwarnings("error", message=r"\w+ interrupted in sweep")
            try:
                model.fit_disk(corpus, checkpoint)
            except UserWarning as stopped:
                raise KeyboardInterrupt from stopped

    def _score(self, mixture: FittedMixture, corpus: DiskCorpus, scores: ScoreFiles, n_jobs: int | None) -> None:
        missing, n_partitions = scores.missing(), corpus.n_partitions
        labels = [(mixture.labels[partition_rows(corpus.n_documents, n_partitions, part)],) for part in missing]
        n_documents = sum(own.size for (own,) in labels)
        with make_engine("threads", n_jobs) as engine, self.progress.task("scoring", total=n_documents) as task:
            engine.hold([partial(corpus.partition, part) for part in missing])
            found = engine.map(score_partition, Scorers.of(mixture), labels)
            for part, values in zip(missing, found, strict=True):
                scores.write(part, values)
                task.advance(values.shape[1])

    def _write(self, run: LargeRun, model: GibbsMixture) -> Outcome:
        scores: dict[str, float] | None = None
        examples = None

        def write_files(folder: Path) -> dict[str, Any]:
            nonlocal scores, examples
            n_documents = run.corpus.n_documents
            with _timed(self.seconds, "writing"), self.progress.task("writing", total=n_documents) as task:
                written = run.write_files(folder, self.reader, task.advance)
            if describe_files(self.reader.report.files) != self.source["files"]:
                raise ValueError("the files have changed since they were counted")
            examples = written.examples
            if written.known_labels is not None:
                with _timed(self.seconds, "comparing"):
                    scores = agreement(written.known_labels, run.mixture.labels)
            return {
                "input": describe_input(self.reader.report, self.columns),
                "scores": scores,
                "seconds": self.seconds,
            }

        identity = {"run": self.work.run, "made_of": self.made_of}
        manifest = {**run.manifest(), **identity, "memory": self.plan.memory}
        write_run(self.plan.out, write_files, manifest, force=self.plan.force)
        assert examples is not None
        clustering = LargeClustering(
            model, run.without_documents(), examples, seconds=self.seconds, folder=self.plan.out, info=manifest
        )
        return Outcome(clustering, self.reader.report, scores)


class _Checkpoint(FileCheckpoint):
    """One that tells what the run goes on from, and says of a damaged state that there is no going on."""

    def __init__(self, folder: Path, identity: Mapping[str, Any], shape: Shape, tell: Callable[[str], None]) -> None:
        super().__init__(folder, identity, shape)
        self._tell = tell

    def load(self) -> Saved | None:
        try:
            saved = super().load()
        except ValueError as error:
            raise OtherRunError(str(error)) from error
        if saved is not None:
            polished = f" and {saved.n_passes} greedy passes" if saved.n_passes else ""
            self._tell(f"going on after {len(saved.trace['n_moved'])} sweeps{polished}")
        return saved


_STAGES = {"reading": "reading", "writing": "sorting"}


def _max_clusters(model: GibbsMixture, corpus: DiskCorpus) -> int:
    return int(model._make_finite_prior(corpus.n_documents - corpus.n_empty_documents).max_clusters)


def _for_counts_on_disk(clusterer: TextClusterer) -> TextClusterer:
    """The same with the sampler that works on partitions; ValueError for what that cannot do."""
    if clusterer.model == "consensus" or clusterer.granularity is not None or clusterer.outlier_threshold is not None:
        raise ValueError(
            "a consensus, with its granularity and outlier threshold, needs all counts in memory; with counts on disk "
            "(--memory) or on Dask there is a single run, so leave them out"
        )
    clusterer.check_settings(on_disk=True)
    if not isinstance(clusterer.make_model(1, on_disk=True), GibbsMixture):
        raise ValueError("texts that are not held in memory can be clustered by the models with a name only")
    if clusterer.inference not in (None, "auto", "parallel"):
        raise ValueError(
            f"inference {clusterer.inference!r} needs all counts in memory; "
            'with counts on disk (--memory) or on Dask it is "parallel", so leave it out'
        )
    for name in ("alpha", "beta"):
        if getattr(clusterer, name) == "learn":
            raise ValueError(f'{name} "learn" needs all counts in memory; with counts on disk give a number')
    return clone(clusterer).set_params(inference="parallel")  # type: ignore[no-any-return]


def _check_plan(plan: Plan) -> None:
    if plan.memory is not None and plan.memory < SMALLEST_MEMORY:
        raise ValueError(
            f"--memory is {plan.memory / 1e6:,.0f} MB, but has to be {SMALLEST_MEMORY / 1e6:,.0f} MB at least: "
            f"textmix itself takes some {ITSELF / 1e6:,.0f} MB"
        )
    out, work = plan.out.resolve(), plan.work.resolve()
    if out == work or out in work.parents or work in out.parents:
        raise ValueError(f'--work "{plan.work}" and --out "{plan.out}" must be two folders, none inside the other')


def _describe_source(reader: DocumentReader, columns: Mapping[str, str | None], tokenizer: Tokenizer) -> dict[str, Any]:
    """What the counts are made of and how, as JSON gives it back."""
    settings = {
        name: list(value) if isinstance(value, tuple) else value for name, value in tokenizer.settings().items()
    }
    return {
        "textmix": version("textmix"),
        "files": describe_files(reader.report.files),
        "columns": dict(columns),
        "tokenizer": settings,
    }


def _digest(source: Mapping[str, Any], clusterer: TextClusterer) -> str:
    """A number for the texts and all settings that have an effect on the result."""
    settings = {name: value for name, value in clusterer.get_params().items() if name not in _WITHOUT_EFFECT}
    return hashlib.sha256(json.dumps([source, settings], sort_keys=True, default=repr).encode()).hexdigest()


def _holds_run(out: Path, identity: Mapping[str, str]) -> bool:
    """Whether the results of that run are there."""
    try:
        return identity.items() <= read_manifest(out).items()
    except ValueError:
        return False


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - started
