"""Clustering texts that do not fit in memory, or on a cluster of machines: the counts are on disk.

Texts are counted into a work folder, the counts are sampled shard by shard, every document is scored, and
the results are written while the texts are read once more. A run that broke off goes on from its work folder.
"""

from __future__ import annotations

import errno
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.base import clone

from textmix.clustering.clustering import Clustering
from textmix.clustering.text_clusterer import TextClusterer, check_words
from textmix.clustering.text_store import TextsOnDisk
from textmix.corpus.readers import DocumentReader, ReadReport
from textmix.corpus.shards import DamagedError, shard_rows, shard_size
from textmix.engines.engine import make_engine
from textmix.estimators.gibbs_mixture import GibbsMixture
from textmix.inference.freed import return_freed_memory
from textmix.inference.parallel_fit import Saved
from textmix.inference.progress import Progress, ProgressTask
from textmix.large.disk_corpus import DiskCorpus
from textmix.large.errors import (
    CannotResumeError,
    InMemoryOnlyError,
    InterruptedRun,
    LargeRunError,
    LeftOverError,
    MemoryLimitError,
    NestedFoldersError,
    NoSpaceError,
    Remains,
    UnfinishedError,
)
from textmix.large.memory import ITSELF, SMALLEST_MEMORY, compile_apart, estimate_memory, is_compiled, threads_within
from textmix.large.run_files import LargeRun, Scorers, score_shard
from textmix.large.source import can_be_read_again, describe_files, describe_source, digest, with_effect
from textmix.large.work_folder import FileCheckpoint, ScoreFiles, Shape, WorkFolder
from textmix.metrics import agreement
from textmix.results.folder import check_destination, read_manifest, write_run
from textmix.results.mixture import FittedMixture, plain_parameters
from textmix.results.run import describe_input

_BATCH_SIZE = 4096  # texts read at a time
_MISHAPS = (ValueError, OSError, ImportError, RuntimeError, MemoryError)
_STAGES = {"reading": "reading", "writing": "sorting"}  # of counting, as progress is shown

Tell = Callable[[str | LargeRunError], None]  # what the user is to know


@dataclass(frozen=True)
class Plan:
    """Where a large run writes and works, how many bytes it may take, and what to do with what is there already."""

    out: Path
    work: Path
    memory: int | None = None
    resume: bool = False
    force: bool = False
    escape_formulas: bool = True  # in CSV


class LargeOutcome(NamedTuple):
    """What came of a large run."""

    clustering: Clustering
    report: ReadReport
    scores: dict[str, float] | None  # agreement with the labels beside the texts, if there are any


def cluster_large(
    files: Sequence[str],
    columns: Mapping[str, str | None],
    clusterer: TextClusterer,
    plan: Plan,
    *,
    progress: bool | None,
    tell: Tell,
) -> LargeOutcome | None:
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
    with WorkFolder(plan.work) as work:
        work.read()
        can_go_on = all(can_be_read_again(name) for name in files)
        if plan.resume and not can_go_on:
            raise CannotResumeError("standard input and pipes cannot be read again", "input")
        given = {name: value for name, value in columns.items() if value is not None}
        with DocumentReader(files, batch_size=_BATCH_SIZE, **given) as reader:
            return _Run(reader, columns, clusterer, plan, work, can_go_on, Progress(progress), tell).begin_or_go_on()


@dataclass
class _Run:
    """One run, from what is in the work folder to the results."""

    reader: DocumentReader
    columns: Mapping[str, str | None]
    clusterer: TextClusterer
    plan: Plan
    work: WorkFolder
    can_go_on: bool  # later, should it break off: the texts can be read again
    progress: Progress
    tell: Tell
    seconds: dict[str, float] = field(default_factory=dict)  # what took how long

    def __post_init__(self) -> None:
        self.source = describe_source(self.reader.report.files, self.columns, self.clusterer.make_tokenizer())
        self.made_of = digest(self.source, self.clusterer.get_params())

    def begin_or_go_on(self) -> LargeOutcome | None:
        """Run to the end, from the beginning or from what was left; None if an earlier run had finished all of it."""
        plan, work = self.plan, self.work
        has_run = work.has_run
        identity = {"run": work.run} if has_run else {"made_of": self.made_of}
        if plan.resume and _holds_run(plan.out, identity):
            if has_run:
                work.remove()
            self.tell(f'the run in "{plan.out}" was finished already')
            return None
        check_destination(plan.out, force=plan.force)
        if has_run and not plan.resume and not plan.force:
            raise LeftOverError(plan.work, can_resume=self.can_go_on)
        if plan.memory is not None and not is_compiled():
            with self._timed("compiling"):
                compile_apart()
        if has_run and plan.resume:
            work.go_on(self.source)
        else:
            if plan.resume:
                self.tell(f'there is nothing to resume in "{plan.work}"; this run starts from the beginning')
            work.remove()
            work.begin(self.source)
        try:
            return self._finish()
        except BaseException as error:
            outcome = self._broken_off(error)
            if outcome is error:
                raise
            raise outcome from error

    def _broken_off(self, error: BaseException) -> BaseException:
        """What to raise after an error, with what is left of the run; nothing is, without counts or a way to go on."""
        plan, work = self.plan, self.work
        if isinstance(error, DamagedError):
            work.forget_corpus()
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            error = NoSpaceError(plan.work, plan.out)
        if not (work.has_corpus or work.has_checkpoint) or not self.can_go_on:
            work.remove()
            interrupted = isinstance(error, KeyboardInterrupt) and not self.can_go_on
            return InterruptedRun(Remains(None)) if interrupted else error
        remains = Remains(plan.work, self._files_changed())
        if isinstance(error, KeyboardInterrupt):
            return InterruptedRun(remains)
        if isinstance(error, _MISHAPS) and not isinstance(error, CannotResumeError):
            return UnfinishedError(error, remains)
        return error

    def _files_changed(self) -> bool:
        return bool(describe_files(self.reader.report.files) != self.source["files"])

    def _finish(self) -> LargeOutcome:
        with self._timed("counting"):
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
        with self._timed("sampling"):
            self._sample(model, corpus)
        return_freed_memory()
        mixture = model.mixture_
        scores = ScoreFiles(self.work.path, corpus.n_documents, corpus.n_shards)
        with self._timed("scoring"):
            self._score(mixture, corpus, scores, model.n_jobs)
        return_freed_memory()
        run = LargeRun(mixture, corpus, model.outliers_, scores, self.plan.escape_formulas)
        outcome = self._write(run, model)
        self.work.remove()
        return outcome

    def _check_memory(self, needed: int, memory: int, corpus: DiskCorpus, n_clusters: int) -> None:
        """Raise MemoryLimitError if vocabulary and statistics would not fit in memory; tell it if they might not."""
        if needed <= memory:
            return
        words = f"{corpus.n_documents:,} texts with {corpus.n_words:,} distinct words"
        what = f"{words} and up to {n_clusters:,} clusters"
        if self.clusterer.init != "online":
            raise MemoryLimitError(what, needed, memory, "sampling")
        self.tell(MemoryLimitError(what, needed, memory, "online sampling"))

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
        settings = {"model": type(model).__name__, **with_effect(plain_parameters(model))}
        self.work.keep_settings(settings)
        sizes = [shard_size(corpus.n_documents, corpus.n_shards, part) for part in range(corpus.n_shards)]
        shape = Shape(sizes, _max_clusters(model, corpus))
        identity = {"source": self.source, "settings": settings}
        checkpoint = FileCheckpoint(self.work.path, identity, shape, self._tell_progress)
        with warnings.catch_warnings():
            # Samplers answer Ctrl-C with a warning and what they have reached. Here it is in the checkpoint.
            warnings.filterwarnings("error", message=r"\w+ interrupted in sweep")
            try:
                model.fit_disk(corpus, checkpoint)
            except UserWarning as stopped:
                raise KeyboardInterrupt from stopped

    def _tell_progress(self, saved: Saved) -> None:
        polished = f" and {saved.n_passes} greedy passes" if saved.n_passes else ""
        self.tell(f"going on after {len(saved.trace['n_moved'])} sweeps{polished}")

    def _score(self, mixture: FittedMixture, corpus: DiskCorpus, scores: ScoreFiles, n_jobs: int | None) -> None:
        missing, n_shards = scores.missing(), corpus.n_shards
        labels = [(mixture.labels[shard_rows(corpus.n_documents, n_shards, part)],) for part in missing]
        n_documents = sum(own.size for (own,) in labels)
        with make_engine("threads", n_jobs) as engine, self.progress.task("scoring", total=n_documents) as task:
            engine.hold([partial(corpus.shard, part) for part in missing])
            found = engine.map(score_shard, Scorers.of(mixture), labels)
            for part, values in zip(missing, found, strict=True):
                scores.write(part, values)
                task.advance(values.shape[1])

    def _write(self, run: LargeRun, model: GibbsMixture) -> LargeOutcome:
        scores: dict[str, float] | None = None
        examples = None

        def write_files(folder: Path) -> dict[str, Any]:
            nonlocal scores, examples
            n_documents = run.corpus.n_documents
            with self._timed("writing"), self.progress.task("writing", total=n_documents) as task:
                written = run.write_files(folder, self.reader, task.advance)
            if self._files_changed():
                raise ValueError("the files have changed since they were counted")
            examples = written.examples
            if written.known_labels is not None:
                with self._timed("comparing"):
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
        store = TextsOnDisk(examples, self.plan.out)
        clustering = Clustering(model, run.corpus.without_documents, store, seconds=self.seconds, info=manifest)
        return LargeOutcome(clustering, self.reader.report, scores)

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - started


def _max_clusters(model: GibbsMixture, corpus: DiskCorpus) -> int:
    return int(model._make_finite_prior(corpus.n_documents - corpus.n_empty_documents).max_clusters)


def _for_counts_on_disk(clusterer: TextClusterer) -> TextClusterer:
    """The same with the sampler that works on shards; ValueError for what that cannot do."""
    if clusterer.model == "consensus" or clusterer.granularity is not None or clusterer.outlier_threshold is not None:
        consensus = "a consensus, with its granularity and outlier threshold,"
        raise InMemoryOnlyError(consensus, "there is a single run, so leave them out")
    clusterer.check_settings(on_disk=True)
    if not isinstance(clusterer.make_model(1, on_disk=True), GibbsMixture):
        raise ValueError("texts that are not held in memory can be clustered by the models with a name only")
    if clusterer.inference not in (None, "auto", "parallel"):
        raise InMemoryOnlyError(f"inference {clusterer.inference!r}", 'it is "parallel", so leave it out')
    for name in ("alpha", "beta"):
        if getattr(clusterer, name) == "learn":
            raise ValueError(f'{name} "learn" needs all counts in memory; with counts on disk give a number')
    return clone(clusterer).set_params(inference="parallel")  # type: ignore[no-any-return]


def _check_plan(plan: Plan) -> None:
    if plan.memory is not None and plan.memory < SMALLEST_MEMORY:
        raise MemoryLimitError("large runs", SMALLEST_MEMORY, plan.memory, "start")
    out, work = plan.out.resolve(), plan.work.resolve()
    if out == work or out in work.parents or work in out.parents:
        raise NestedFoldersError(plan.work, plan.out)


def _holds_run(out: Path, identity: Mapping[str, str]) -> bool:
    """Whether the results of that run are there."""
    try:
        return identity.items() <= read_manifest(out).items()
    except ValueError:
        return False
