"""Published checkpoints: what is in them, read without running anything that is in them, under our names.

The tables say how the names of released weights become ours; docs/baselines.md shows them.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from models_runner.retrieval.errors import ScoringError

Names = dict[str, str]

TWO_STREAM: Names = {
    "query_pos_embed": "query_position",
    "ctx_pos_embed": "clip_position",
    "query_input_proj": "query_input",
    "video_input_proj": "video.input",
    "sub_input_proj": "subtitle.input",
    "query_encoder": "query_encoders.0",
    "query_encoder1": "query_encoders.1",
    "video_encoder1": "video.encoder",
    "video_encoder2": "video.deeper.0",
    "video_encoder3": "video.deeper.1",
    "sub_encoder1": "subtitle.encoder",
    "sub_encoder2": "subtitle.deeper.0",
    "sub_encoder3": "subtitle.deeper.1",
    "video_cross_att": "video.meeting.attention",
    "sub_cross_att": "subtitle.meeting.attention",
    "video_cross_layernorm": "video.meeting.norm",
    "sub_cross_layernorm": "subtitle.meeting.norm",
    "video_query_linear": "video.span_query",
    "sub_query_linear": "subtitle.span_query",
    "modular_vector_mapping": "query_split",
    "merged_st_predictor": "span_head.start",
    "merged_ed_predictor": "span_head.end",
}
CONQUER: Names = {
    "encoder.videoEncoder.img_linear": "visual_input",
    "encoder.videoEncoder.text_linear": "subtitle_input",
    "encoder.videoEncoder.transformer.embeddings": "clip_position",
    "encoder.videoEncoder.transformer.encoder.layer.0": "clip_encoder",
    "encoder.queryEncoder.linear": "query_input",
    "encoder.queryEncoder.transformer.embeddings": "query_position",
    "encoder.queryEncoder.transformer.encoder.layer.0": "query_encoder",
    "query_weight.text_pooling.clusters": "fusion.centres",
    "query_weight.text_pooling.clusters2": "fusion.origins",
    "query_weight.text_pooling": "fusion",
    "query_weight.moe_fc_txt": "fusion.gate",
    "query_aware_feature_learning_layer.similarity_weight": "flow",
    "contextual_QAL_feature_learning.trans_linear": "context.input",
    "contextual_QAL_feature_learning.encoder.layer.0": "context.encoder",
    "moment_localization_head.begin_feature_modeling.trans_linear": "start.input",
    "moment_localization_head.begin_feature_modeling.encoder.layer.0": "start.encoder",
    "moment_localization_head.end_feature_modeling.trans_linear": "end.input",
    "moment_localization_head.end_feature_modeling.encoder.layer.0": "end.encoder",
    "moment_localization_head.begin_score_modeling.clip_score_predictor.0": "start_score.around",
    "moment_localization_head.begin_score_modeling.clip_score_predictor.2": "start_score.alone",
    "moment_localization_head.end_score_modeling.clip_score_predictor.0": "end_score.around",
    "moment_localization_head.end_score_modeling.clip_score_predictor.2": "end_score.alone",
    "video_scoring_head.video_feature_modeling.trans_linear": "video_score.features.input",
    "video_scoring_head.video_feature_modeling.encoder.layer.0": "video_score.features.encoder",
    "video_scoring_head.video_score_predictor.0": "video_score.narrow",
    "video_scoring_head.video_score_predictor.2": "video_score.score",
}
INSIDE: Names = {
    "": "",
    "position_embeddings": "place",
    "token_type_embeddings": "kind",
    "LayerNorm": "norm",
    "net.1": "linear",
    "query": "query",
    "key": "key",
    "value": "value",
}
LAYER_INSIDE: Names = INSIDE | {  # XML and ReLoCLNet
    "self.query": "attention.query",
    "self.key": "attention.key",
    "self.value": "attention.value",
    "output.dense": "mix",
    "output.LayerNorm": "norm",
}
BERT_INSIDE: Names = INSIDE | {  # CONQUER
    "attention.self.query": "attention.query",
    "attention.self.key": "attention.key",
    "attention.self.value": "attention.value",
    "attention.output.dense": "mix",
    "attention.output.LayerNorm": "norm",
    "intermediate.dense": "feed_forward.outward",
    "output.dense": "feed_forward.back",
    "output.LayerNorm": "feed_forward.norm",
}
TABLES: Mapping[str, tuple[Names, Names]] = {
    "xml": (TWO_STREAM, LAYER_INSIDE),
    "reloclnet": (TWO_STREAM, LAYER_INSIDE),
    "conquer": (CONQUER, BERT_INSIDE),
}


class UnknownWeight(ScoringError):
    """A published checkpoint holds a weight that the baseline does not have."""


def our_name(baseline: str, name: str) -> str:
    """What we call the weight that the released code of a baseline calls ``name``.

    Raises:
        UnknownWeight: there is no such weight.
    """
    places, inside = TABLES[baseline]
    if name in places:
        return places[name]
    stem, _, kind = name.rpartition(".")
    for place in sorted(places, key=len, reverse=True):
        within = stem.removeprefix(place).removeprefix(".")
        if (stem == place or stem.startswith(f"{place}.")) and within in inside:
            return ".".join(part for part in (places[place], inside[within], kind) if part)
    raise UnknownWeight(f"{baseline} has no weight {name!r}")


def our_weights(baseline: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Released weights under our names."""
    return {our_name(baseline, name): tensor for name, tensor in weights.items()}
