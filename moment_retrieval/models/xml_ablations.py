"""XML with parts exchanged or left out: the ablations of its paper (Lei et al. 2020, arXiv:2001.09099), by name.

Notation: as in ``two_stream``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from moment_retrieval.batches import NOTHING, Batch, Layout, Sequences, wide
from moment_retrieval.distributed import ONE_PROCESS, Pair, SingleProcess
from moment_retrieval.losses import clip_loss
from moment_retrieval.models.blocks import NORM_EPSILON, Dropout, EncoderBlock, initialise
from moment_retrieval.models.two_stream import EncodedVideos, Stream
from moment_retrieval.models.xml import Xml, XmlOutput
from moment_retrieval.proposals import group_proposals, window_proposals
from moment_retrieval.settings import Boundaries, Encoder, Streams, XmlConfig

CNN_WIDTH = 5  # rows that a convolution sees, as in the released code
PROPOSALS = {Boundaries.WINDOWS: window_proposals, Boundaries.GROUPS: group_proposals}


class RecurrentEncoder(nn.Module):
    """A bidirectional LSTM, half of the features from each direction; nothing but real rows is read."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(hidden_size, hidden_size // 2, batch_first=True, bidirectional=True)

    def forward(self, rows: Tensor, layout: Layout) -> Tensor:
        """[R, H] -> [R, H]; rows that are not real become zeros."""
        lengths = layout.lengths.clamp(min=1)  # torch takes no empty sequence; its row is not real
        cells = pack_padded_sequence(layout.spread(rows), lengths, batch_first=True, enforce_sorted=False)
        mixed, _ = pad_packed_sequence(self.lstm(cells)[0], batch_first=True, total_length=layout.width)
        return layout.collect(mixed)


class ConvolutionalEncoder(nn.Module):
    """A convolution over time that keeps what it is given; rows that are not real are zeros to it."""

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.around = nn.Conv1d(hidden_size, hidden_size, CNN_WIDTH, padding=CNN_WIDTH // 2)
        self.norm = nn.LayerNorm(hidden_size, eps=NORM_EPSILON)
        self.dropout = Dropout(dropout)

    def forward(self, rows: Tensor, layout: Layout) -> Tensor:
        """[R, H] -> [R, H]."""
        cells = layout.spread(rows).masked_fill(~layout.real[..., None], 0.0)  # [B, W, H]
        mixed = functional.relu(self.around(cells.transpose(1, 2))).transpose(1, 2)
        return self.norm(self.dropout(layout.collect(mixed)) + rows)


class NoPosition(nn.Module):
    """Stands for a positional encoding where the encoder reads rows in their order."""

    def forward(self, rows: Tensor, position: Tensor) -> Tensor:
        """rows [R, H] -> the same."""
        return rows


@dataclass(frozen=True)
class ClipOutput(XmlOutput):
    """Scores [B, B]; for ``start`` and ``end`` one logit of every clip of the own video, and which are real [B, W]."""

    real: Tensor

    def span_losses(self, batch: Batch) -> Tensor:
        """Binary cross-entropy of the clips inside and outside the moment, per sample [B]."""
        return clip_loss(self.start, batch.start, batch.end, self.real)


def xml_of(config: XmlConfig) -> Xml:
    """Return XML as released, or with the parts that ``config`` exchanges or leaves out."""
    return Xml(config) if config.is_released else AblatedXml(config)


class AblatedXml(Xml):
    """XML built as released, then changed: what a choice leaves out has no weights.

    A single stream stands for both in what is encoded, so that searching is the same. Where the streams do not meet, a
    third transformer layer stands in the place of their attention, as in the released code.
    """

    def __init__(self, config: XmlConfig) -> None:
        super().__init__(config)
        self.encoder = config.encoder
        self.propose = PROPOSALS.get(config.boundaries)
        self.single = None if config.streams is Streams.BOTH else config.streams.value
        if self.single is not None:
            self._leave_one_stream()
        if self.encoder is not Encoder.TRANSFORMER:
            self._exchange_encoders()
        parts = 1 if self.single else 2
        self.query_split = nn.Linear(config.hidden, parts, bias=False) if config.modular else None
        if self.propose is not None:
            del self.span_head
        self.apply(initialise)

    @staticmethod
    def undecayed(name: str) -> bool:
        """Whether the parameter of this name keeps its size; the biases of an LSTM do, too."""
        return Xml.undecayed(name) or ".lstm.bias" in name

    def forward(self, batch: Batch, processes: SingleProcess = ONE_PROCESS) -> XmlOutput:
        """As of XML; without its convolution the logits are those of clips."""
        if self.propose is None:
            return super().forward(batch, processes)
        queries, videos = self.encode_queries(batch.queries), self.encode_videos(batch.video, batch.subtitle)
        scores = processes.columns(self.video_scores(processes.queries(queries), videos))
        clips = processes.cells(self.similarity(queries, videos))
        return ClipOutput(scores, clips, clips, processes.layout(videos.layouts[0]).real)

    def split_queries(self, rows: Tensor, layout: Layout) -> Pair:
        """Encoded words [R, H] -> a vector of each query for each stream, [Q, H] each; the same where it is one."""
        if self.query_split is None:
            pooled = layout.spread(wide(rows)).masked_fill(~layout.real[..., None], NOTHING).amax(1)
            return pooled, pooled
        if self.single is None:
            return super().split_queries(rows, layout)
        weights = self.word_weights(rows, layout)  # [Q, W, 1]
        vectors = (weights.transpose(1, 2) @ layout.spread(rows)).squeeze(1)
        return vectors, vectors

    def encode_videos(self, video: Sequences, subtitle: Sequences) -> EncodedVideos:
        """Each video after every encoder; a single stream is both of a pair."""
        if self.single is None:
            return super().encode_videos(video, subtitle)
        own, other = (video, subtitle) if self.single == Streams.VIDEO else (subtitle, video)
        (narrow, _), (around, _) = self.layouts((own.lengths, own.lengths), own.rows.device)
        width = max(narrow.width, min(int(other.lengths.max()), self.config.clips))  # labels are of the longer stream
        rows = self._stream.first(own.rows, around, self.clip_position)
        rows, narrow = around.narrowed(rows, narrow), replace(narrow, width=width)
        levels = {0: (rows, rows)}
        for deeper in self._stream.deeper:
            rows = deeper(rows, narrow)
            levels[len(levels)] = rows, rows
        return EncodedVideos(levels, (narrow, narrow))

    def similarity(self, queries: Pair, videos: EncodedVideos) -> Tensor:
        """How like each query the clips of the video beside it are [B, W]."""
        if self.single is None:
            return super().similarity(queries, videos)
        rows = videos.levels[self.span_level][0]
        return self._similarity(self._stream, queries[0], rows, videos.layouts[0])

    def curves(self, queries: Pair, videos: EncodedVideos) -> tuple[Tensor, Tensor]:
        """Probabilities of start and end [B, W]; without the convolution, twice that a clip is inside."""
        if self.propose is None:
            return super().curves(queries, videos)
        inside = self.similarity(queries, videos).masked_fill(~videos.layouts[0].real, NOTHING).sigmoid()
        return inside, inside

    @property
    def _stream(self) -> Stream:
        stream: Stream = getattr(self, self.single or Streams.VIDEO)
        return stream

    def _leave_one_stream(self) -> None:
        delattr(self, Streams.SUBTITLE if self.single == Streams.VIDEO else Streams.VIDEO)
        del self._stream.meeting
        if self.encoder is Encoder.TRANSFORMER:
            self._stream.deeper.append(EncoderBlock(self.config.hidden, self.config.heads, self.config.dropout))
            self.span_level += 1

    def _exchange_encoders(self) -> None:
        """Put other encoders where self-attention is; a recurrent one needs no positions."""
        streams = (self.video, self.subtitle) if self.single is None else (self._stream,)
        self.query_encoders = nn.ModuleList(self._encoder() for _ in self.query_encoders)
        for stream in streams:
            stream.encoder = self._encoder()
            stream.deeper = nn.ModuleList(self._encoder() for _ in stream.deeper)
        if self.encoder is Encoder.LSTM:
            self.query_position, self.clip_position = NoPosition(), NoPosition()

    def _encoder(self) -> nn.Module:
        if self.encoder is Encoder.LSTM:
            return RecurrentEncoder(self.config.hidden)
        return ConvolutionalEncoder(self.config.hidden, self.config.dropout)
