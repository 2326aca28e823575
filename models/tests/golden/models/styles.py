"""How do the same weights and numbers look in the files in circulation?

Pure functions on a config.json as transformers 5 saves it, and on names of tensors; used by the scripts of the families.
"""


def v4_rope(text):
    """rope_parameters as transformers 4 wrote them: the base beside rope_scaling, which is null where nothing is scaled."""
    rope = text.pop("rope_parameters")
    text["rope_theta"] = rope.pop("rope_theta")
    text["rope_scaling"] = rope if set(rope) - {"rope_type"} else None
    return text


def flat(cfg):
    """config.json as Qwen2-VL and Qwen2.5-VL were released: text fields at the top, rope_scaling of type mrope."""
    text = {k: v for k, v in v4_rope(cfg.pop("text_config")).items() if k not in ("model_type", "layer_types", "pad_token_id")}
    text["rope_scaling"] = dict(type="mrope", mrope_section=text["rope_scaling"]["mrope_section"])
    # Off, so the width of the window has no effect.
    text |= dict(use_sliding_window=False, sliding_window=16, max_window_layers=1)
    cfg["torch_dtype"] = cfg.pop("dtype")
    return cfg | text | dict(vision_config=v4_tower(cfg["vision_config"], cfg["model_type"]))


def mixed(cfg):
    """config.json as late transformers 4 saved these families again: text fields at the top and in text_config."""
    text = v4_rope(cfg["text_config"])
    text["rope_scaling"] |= dict(rope_type="default", type="default")
    top = {k: v for k, v in text.items() if k != "model_type"}
    tower = v4_tower(cfg["vision_config"], cfg["model_type"]) | dict(in_channels=3)
    cfg["torch_dtype"] = cfg.pop("dtype")
    return top | cfg | dict(vision_config=tower)


def v4_tower(vision, model_type):
    """The tower's fields under their older names."""
    vision = {k: v for k, v in vision.items() if k not in ("rope_parameters", "in_channels", "initializer_range", "model_type")}
    if model_type == "qwen2_vl":
        vision.pop("hidden_act")
    return vision | dict(in_chans=3, spatial_patch_size=vision["patch_size"])


def inner_names(name, tensor):
    """From released names to those of the classes in transformers."""
    if name.startswith("visual."):
        return [("model." + name, tensor)]
    return [(name.replace("model.", "model.language_model.", 1), tensor)]
