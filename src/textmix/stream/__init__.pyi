from textmix.stream.clusterer import StreamClusterer as StreamClusterer
from textmix.stream.durable import DurableStream as DurableStream
from textmix.stream.policy import Policy as Policy
from textmix.stream.records import Document as Document
