"""Counted parameters against published ones, and against arithmetic done by hand."""

from dataclasses import replace

import pytest
from support.cases import each

from models_db import Model, ModelError, Vision, list_models, load_model

# Parameter totals of released checkpoints, typed from the Hugging Face Hub (field
# safetensors.total), from model cards or from KerasHub's presets: exact to the last digit.
EXACT = {
    "bloom-7b1": 7_069_016_064,
    "bloom-176b": 176_247_271_424,
    "gpt-neox-20b": 20_554_567_680,
    "llama2-7b": 6_738_415_616,
    "llama2-13b": 13_015_864_320,
    "llama2-70b": 68_976_648_192,
    "llama3-8b": 8_030_261_248,
    "llama3-70b": 70_553_706_496,
    "llama3.1-8b": 8_030_261_248,
    "llama3.1-70b": 70_553_706_496,
    "llama3.1-405b": 405_853_388_800,
    "mistral-7b": 7_241_732_096,
    "mixtral-8x7b": 46_702_792_704,
    "mixtral-8x22b": 140_620_634_112,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen2-57b-a14b": 57_408_658_944,
    "qwen3-8b": 8_190_735_360,
    "qwen3-14b": 14_768_307_200,
    "qwen3-32b": 32_762_123_264,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-235b-a22b": 235_093_634_560,
    "gemma2-9b": 9_241_705_984,
    "gemma2-27b": 27_227_128_320,
    "gemma3-4b": 3_880_099_328,
    "gemma3-12b": 11_765_788_416,
    "gemma3-27b": 27_009_002_240,
    "deepseek-v2": 235_741_434_880,
    "deepseek-v2-lite": 15_706_484_224,
    "olmo2-7b": 7_298_617_344,
    "olmo2-13b": 13_716_198_400,
    "olmo2-32b": 32_234_279_936,
    "phi-3-mini": 3_821_079_552,
    "phi-4": 14_659_507_200,
    "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672,
    "gemma-2b": 2_506_172_416,
    "gemma-7b": 8_537_680_896,
    "gemma2-2b": 2_614_341_888,
    "gemma3-1b": 999_885_952,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen3-0.6b": 596_049_920,
    "qwen3-1.7b": 1_720_574_976,
    "qwen3-4b": 4_022_468_096,
    # as transformers 5.23.0 builds the language model from the defaults of its configuration
    "qwen3-next-80b-a3b": 79_674_391_296,
    "qwen3.5-9b": 8_953_803_264,
    "qwen3.5-35b-a3b": 34_660_610_688,
    "olmo-hybrid-7b": 7_430_870_688,
    "smollm3-3b": 3_075_098_624,
    "starcoder2-3b": 3_030_371_328,
}
TOLERANCE = 0.005


def tolerance(model: Model, path: str) -> float:
    """0.5 % of the published figure, plus the interval that a rounded figure stands for.

    In other words: some number that rounds to the printed one is within 0.5 % of the count.
    """
    published = model.quantities[path]
    return TOLERANCE * published.value + published.uncertainty


@each("name", list_models())
def test_total_matches_the_published_count(name: str) -> None:
    model = load_model(name)
    published = model.published.total_parameters
    assert published is not None
    counted = model.total_parameters + model.published.other_parameters
    assert abs(counted - published) <= tolerance(model, "published.total_parameters")


@each("name", list_models())
def test_rounded_figures_hide_at_most_what_their_digits_allow(name: str) -> None:
    """An uncertainty is half a unit of the last printed digit, never a fudge."""
    for path, number in load_model(name).quantities.items():
        if number.uncertainty:
            assert path.startswith("published.")
            unit = 2 * number.uncertainty
            assert str(unit).strip("0") == "1", path
            assert number.value % unit == 0, path


@each(("name", "published"), EXACT.items())
def test_total_matches_the_checkpoint_to_the_last_digit(name: str, published: int) -> None:
    assert load_model(name).total_parameters == published


MOE = [name for name in list_models() if load_model(name).moe is not None]
ROUNDED_DOWN = {"qwen3-next-80b-a3b", "lfm2-8b-a1b"}  # notes of the files say what is counted


def test_a_model_with_experts_has_an_active_count_or_a_note_why_not() -> None:
    lacking = {name for name in MOE if load_model(name).published.active_parameters is None}
    assert lacking == ROUNDED_DOWN
    assert all("active parameters" in load_model(name).note for name in lacking)


@each("name", sorted(set(MOE) - ROUNDED_DOWN))
def test_active_matches_the_published_count(name: str) -> None:
    model = load_model(name)
    published = model.published.active_parameters
    assert published is not None
    counted = model.active_parameters
    if not model.published.active_includes_input_embeddings:
        counted -= model.embedding_parameters
    assert abs(counted - published) <= tolerance(model, "published.active_parameters")


def test_the_mixtures_of_experts_are_the_expected_ones() -> None:
    assert len(MOE) == 19
    assert {"mixtral-8x7b", "deepseek-v3", "llama4-maverick", "gpt-oss-120b"} <= set(MOE)


@each("name", list_models())
def test_parts_add_up_to_the_whole(name: str) -> None:
    model = load_model(name)
    made = list(zip(model.feed_forwards, model.mixers, strict=True))
    layers = sum(model.layer_parameters(*parts) for parts in made)
    ends = model.embedding_parameters + model.position_parameters + model.head_parameters
    norms = model.final_norm_parameters + model.embedding_norm_parameters
    assert layers + ends + norms == model.total_parameters
    kind, mixer = made[-1]
    assert model.layer_parameters(kind, mixer) == (
        model.mixer_parameters(mixer) + model.mlp_parameters(kind) + model.norm_parameters
    )
    if model.moe is None:
        assert model.active_parameters == model.total_parameters
    else:
        assert 0 < model.active_parameters < model.total_parameters


def test_llama2_13b_by_hand() -> None:
    model = load_model("llama2-13b")
    assert model.attention_parameters == 4 * 5120 * 5120 == 104_857_600
    assert model.mlp_parameters() == 3 * 5120 * 13824 == 212_336_640
    assert model.norm_parameters == 2 * 5120
    assert model.embedding_parameters == model.head_parameters == 32000 * 5120 == 163_840_000
    by_hand = 40 * (104_857_600 + 212_336_640 + 10_240) + 2 * 163_840_000 + 5120
    assert model.total_parameters == by_hand == 13_015_864_320


def test_llama3_405b_by_hand() -> None:
    attention = 2 * 16384 * 16384 + 2 * 16384 * (8 * 128)
    mlp = 3 * 16384 * 53248
    by_hand = 126 * (attention + mlp + 2 * 16384) + 2 * 128256 * 16384 + 16384
    assert load_model("llama3-405b").total_parameters == by_hand == 405_853_388_800


def test_gpt3_175b_by_hand() -> None:
    hidden = 12288
    attention = 4 * hidden * hidden + 4 * hidden
    mlp = 8 * hidden * hidden + 5 * hidden
    by_hand = 96 * (attention + mlp + 4 * hidden) + (50257 + 2048) * hidden + 2 * hidden
    assert load_model("gpt3-175b").total_parameters == by_hand
    assert by_hand == pytest.approx(174.6e9, rel=1e-4)


def test_mixtral_by_hand() -> None:
    model = load_model("mixtral-8x7b")
    assert model.expert_parameters == 3 * 4096 * 14336
    assert model.router_parameters == 8 * 4096
    assert model.shared_expert_parameters == 0
    attention = 2 * 4096 * 4096 + 2 * 4096 * 1024
    rest = 32 * (attention + 8 * 4096 + 2 * 4096) + 2 * 32000 * 4096 + 4096
    assert model.total_parameters == rest + 32 * 8 * model.expert_parameters == 46_702_792_704
    assert model.active_parameters == rest + 32 * 2 * model.expert_parameters == 12_879_925_248
    with pytest.raises(ModelError, match="no dense layer"):
        model.mlp_parameters("dense")


def test_palm_by_hand() -> None:
    hidden = 18432
    attention = 2 * hidden * 48 * 256 + 2 * hidden * 256
    by_hand = 118 * (attention + 3 * hidden * 4 * hidden + hidden) + 256000 * hidden + hidden
    assert load_model("palm-540b").total_parameters == by_hand
    assert by_hand == pytest.approx(540.35e9, rel=2e-5)


def test_deepseek_v3_checkpoint_to_the_last_digit() -> None:
    """671B + 14B + FP8 scales: all 684,531,386,000 values of the released checkpoint.

    The Hub lists 3,918,786,560 BF16, 680,571,043,840 FP8 and 41,555,600 FP32 values. FP32 holds a
    scale per block of 128 x 128 FP8 values and the routing bias per expert.
    """
    model = load_model("deepseek-v3")
    query = 7168 * 1536 + 1536 + 1536 * 128 * 192
    key_value = 7168 * 576 + 512 + 512 * 128 * 256
    assert model.attention_parameters == query + key_value + 128 * 128 * 7168
    assert model.layer_kinds.count("dense") == 3
    assert model.mtp_modules == 1
    shared_again = model.embedding_parameters + model.head_parameters
    scales = 0
    for layer in range(61 + 1):
        matrices = [
            (1536, 7168),
            (128 * 192, 1536),
            (576, 7168),
            (128 * 256, 512),
            (7168, 128 * 128),
        ]
        matrices += 3 * [(18432, 7168)] if layer < 3 else 257 * 3 * [(2048, 7168)]
        scales += sum(-(-rows // 128) * -(-columns // 128) for rows, columns in matrices)
    total = model.total_parameters + model.mtp_parameters + shared_again + scales
    assert total == 684_531_386_000
    assert scales + (58 + 1) * 256 == 41_555_600


def test_llama4_vision_part_by_hand() -> None:
    """The published totals exceed the language models by one and the same vision encoder."""
    width, inner = 1408, 5632
    layer = 4 * (width * width + width) + 2 * width * inner + inner + width + 4 * width
    patches = (336 // 14) ** 2
    embeddings = 3 * 14 * 14 * width + width + (patches + 1) * width + 4 * width
    projections = 5632 * 4096 + 4096 * 4096 + 4096 * 5120
    vision = 34 * layer + embeddings + projections
    assert vision == 871_932_416
    assert load_model("llama4-scout").total_parameters + vision == 108_641_793_536
    assert load_model("llama4-maverick").total_parameters + vision == 401_583_781_376


@each(
    ("name", "checkpoint"),
    [
        ("gemma3-4b", 4_300_079_472),
        ("gemma3-12b", 12_187_325_040),
        ("gemma3-27b", 27_432_406_640),
    ],
)
def test_gemma3_with_vision_part_by_hand(name: str, checkpoint: int) -> None:
    """Hugging Face's multimodal checkpoint: text, 64 padding rows, SigLIP encoder, projector."""
    model = load_model(name)
    width, inner = 1152, 4304
    layer = 4 * (width * width + width) + 2 * width * inner + inner + width + 4 * width
    encoder = 27 * layer + (3 * 14 * 14 * width + width) + (896 // 14) ** 2 * width + 2 * width
    projector = width * model.hidden + width
    assert model.total_parameters + 64 * model.hidden + encoder + projector == checkpoint


@each("name", [name for name in list_models() if name.startswith("megatron-")])
def test_megatron_formula(name: str) -> None:
    """Narayanan et al. 2021 (arXiv:2104.04473), equation 2; it leaves out the final norm."""
    model = load_model(name)
    layers, hidden = model.layers, model.hidden
    words = model.vocab_size + model.seq_len
    formula = 12 * layers * hidden**2 + 13 * layers * hidden + words * hidden
    assert model.total_parameters == formula + 2 * hidden


def test_every_flag_of_the_architecture_counts() -> None:
    """Changing one property changes the total by exactly what it stands for."""
    model = load_model("gpt-oss-20b")
    total, hidden, layers = model.total_parameters, 2880, 24
    no_sinks = replace(model, attention=replace(model.attention, sinks=False))
    assert total - no_sinks.total_parameters == layers * 64
    no_bias = replace(model, attention=replace(model.attention, bias=()))
    assert total - no_bias.total_parameters == layers * (4096 + 512 + 512 + hidden)
    no_mlp_bias = replace(model, mlp=replace(model.mlp, bias=False))
    assert total - no_mlp_bias.total_parameters == layers * 32 * (2 * 2880 + hidden)
    plain = replace(model, mlp=replace(model.mlp, gated=False))
    assert total - plain.total_parameters == layers * 32 * (hidden * 2880 + 2880)
    assert total - replace(model, tied_embeddings=True).total_parameters == 201_088 * hidden
    assert model.moe is not None
    no_router_bias = replace(model, moe=replace(model.moe, router_bias=False))
    assert total - no_router_bias.total_parameters == layers * 32
    with_bias = replace(model, norm=replace(model.norm, bias=True))
    assert with_bias.total_parameters - total == (2 * layers + 1) * hidden
    per_head = replace(model, attention=replace(model.attention, qk_norm="per-head"))
    assert per_head.total_parameters - total == layers * 2 * 64
    full_width = replace(model, attention=replace(model.attention, qk_norm="full-width"))
    assert full_width.total_parameters - total == layers * (4096 + 512)
    period = replace(
        model, moe=replace(model.moe, layer_period=2), mlp=replace(model.mlp, hidden=1)
    )
    assert period.layer_kinds == ("dense", "moe") * 12


def test_shared_expert_gate_counts() -> None:
    model = load_model("qwen2-57b-a14b")
    assert model.shared_expert_parameters == 3 * 3584 * 20480 + 3584
    assert load_model("deepseek-v2").shared_expert_parameters == 2 * 3 * 5120 * 1536


def test_layer_order_of_mixtures() -> None:
    assert load_model("deepseek-v3").layer_kinds == ("dense",) * 3 + ("moe",) * 58
    assert load_model("llama4-maverick").layer_kinds == ("dense", "moe") * 24
    assert set(load_model("llama4-scout").layer_kinds) == {"moe"}
    assert set(load_model("llama2-7b").layer_kinds) == {"dense"}
    with pytest.raises(ModelError, match="no layer has experts"):
        load_model("llama2-7b").mlp_parameters("moe")


def test_attention_windows() -> None:
    assert load_model("gemma3-27b").attention_windows[:7] == (1024,) * 5 + (None, 1024)
    assert load_model("gemma3-27b").attention_windows.count(None) == 10
    assert load_model("gemma2-9b").attention_windows == (4096, None) * 21
    assert load_model("gpt-oss-20b").attention_windows == (128, None) * 12
    assert load_model("mistral-7b").attention_windows == (4096,) * 32
    assert load_model("llama4-scout").attention_windows == (8192, 8192, 8192, None) * 12
    assert load_model("llama2-7b").attention_windows == (None,) * 32
    model = load_model("gemma2-9b")
    assert model.window is not None
    swapped = replace(model, window=replace(model.window, first="global"))
    assert swapped.attention_windows == (None, 4096) * 21


def test_vision_towers_have_the_parameters_that_are_published_beside_the_decoder() -> None:
    towers = [load_model(name) for name in list_models()]
    towers = [model for model in towers if model.vision is not None]
    assert {model.name for model in towers} >= {"qwen3.5-9b", "qwen3.5-35b-a3b"}
    for model in towers:
        if "published.other_parameters" in model.quantities:
            assert model.vision_parameters == model.published.other_parameters


def test_the_tower_of_gemma3_is_what_its_presets_differ_by() -> None:
    """KerasHub 71453d0: gemma3_4b less gemma3_4b_text; SigLIP of 896 pixels, one projection."""
    tower = Vision(
        layers=27,
        hidden=1152,
        heads=16,
        mlp_hidden=4304,
        gated=False,
        bias=True,
        norm_bias=True,
        last_norm=True,
        patch=14,
        frames=1,
        channels=3,
        patches=4096,
        positions=4096,
        merge=1,
        projector_hidden=0,
        projector_bias=False,
        projector_norm=1,
    )
    assert tower.parameters(2560) == 4_299_915_632 - 3_880_099_328
