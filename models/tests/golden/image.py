"""Makes image.json and image/*: what the reference image processors do with pictures.

Run: OMP_NUM_THREADS=1 python models/tests/golden/image.py [--jpegs FOLDER]
Versions and seed are written into image.json. Large pictures are not stored: both sides make them from the integer
recipes below (`pattern`, mirrored in tests/image/pattern.rs), and only SHA-256 sums of the results are kept.
--jpegs adds a `jpeg` section: samples of the reference's decoded pixels, to measure how far another decoder drifts.
"""

import argparse
import hashlib
import io
import json
import os
import platform
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import PIL
import torch
import torchvision
import transformers
from PIL import Image
from torchvision.transforms.v2 import functional as tvF
from transformers import Qwen2VLImageProcessor
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

SEED = 20260
HERE = Path(__file__).resolve().parent
FILES = HERE / "image"
# Pixel values of larger results are not hashed, to keep the test short; their resized bytes are.
MAX_HASHED_PIXELS = 4_200_000

CLIP_MEAN, CLIP_STD = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
SWITCHES = {"do_resize": True, "do_rescale": True, "do_normalize": True, "do_convert_rgb": True, "rescale_factor": 1 / 255}


def preset(patch, low, high, mean, std):
    return {"image_processor_type": "Qwen2VLImageProcessor", "patch_size": patch, "temporal_patch_size": 2,
            "merge_size": 2, "size": {"shortest_edge": low, "longest_edge": high}, "image_mean": mean,
            "image_std": std, **SWITCHES}


PRESETS = {
    "qwen3": preset(16, 65536, 16777216, [0.5] * 3, [0.5] * 3),
    "qwen2": preset(14, 3136, 12845056, CLIP_MEAN, CLIP_STD),
    "class": preset(14, 3136, 1003520, CLIP_MEAN, CLIP_STD),
    "small": preset(8, 1024, 65536, [0.5] * 3, [0.5] * 3),
}

# (height, width), from the table of known sizes.
SIZES = [(1080, 1920), (720, 1280), (768, 1024), (600, 800), (800, 1280), (900, 1440), (1440, 2560), (2160, 3840),
         (2400, 1080), (5000, 5000), (48, 48), (16, 16), (100, 1), (10, 1900)]
ODD_SIZES = [(1, 1), (1, 200), (200, 1), (7, 5), (33, 97), (97, 33), (255, 257), (641, 479), (31, 1023), (64, 64)]


def hashed(index, seed):
    with np.errstate(over="ignore"):
        h = index.astype(np.uint32) * np.uint32(0x9E3779B1) + np.uint32(seed)
        h ^= h >> np.uint32(15)
        h *= np.uint32(0x85EBCA77)
        h ^= h >> np.uint32(13)
    return h >> np.uint32(24)


def pattern(kind, width, height, seed):
    """uint8 [height, width, 3]; integer arithmetic only."""
    if kind == "noise":
        return hashed(np.arange(height * width * 3, dtype=np.uint32), seed).astype(np.uint8).reshape(height, width, 3)
    y, x = np.mgrid[0:height, 0:width].astype(np.uint32)
    if kind == "gradient":
        planes = [x * 255 // max(width - 1, 1), y * 255 // max(height - 1, 1), (x + y) & 255]
    elif kind == "checker":
        planes = [((x // (seed + c) + y // (seed + c)) & 1) * 255 for c in range(3)]
    elif kind == "flat":
        planes = [np.full((height, width), (seed * a + b) & 255) for a, b in ((37, 11), (101, 7), (53, 200))]
    elif kind == "screen":
        cell = (y // 23) * 4096 + x // 37
        ink = (hashed((y // 2) * 65536 + x // 2, seed + 7) & 1 == 0) & ((y // 2) % 6 < 4)
        planes = [np.where(ink, 20 * c, hashed(cell, seed + c)) for c in range(3)]
    else:
        raise ValueError(kind)
    return np.stack(planes, -1).astype(np.uint8)


def sha(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def recording(cls):
    """The processor, which also keeps what its resize returned."""
    class Recording(cls):
        def resize(self, *args, **kwargs):
            self.resized = super().resize(*args, **kwargs)
            return self.resized
    return Recording


BACKENDS = {"torchvision": recording(Qwen2VLImageProcessor), "pil": recording(Qwen2VLImageProcessorPil)}


def run(backend, config, rgb):
    processor = BACKENDS[backend](**{k: v for k, v in config.items() if k != "image_processor_type"})
    output = processor(images=[Image.fromarray(rgb)], return_tensors="np")
    resized = np.asarray(processor.resized) if config["do_resize"] else rgb.transpose(2, 0, 1)
    resized = resized.reshape(resized.shape[-3:]).transpose(1, 2, 0)
    assert resized.dtype == np.uint8
    values = np.asarray(output["pixel_values"]).astype(np.float32)
    return resized, values, [int(n) for n in output["image_grid_thw"][0]]


def processed_case(config, kind, seed, height, width):
    rgb = pattern(kind, width, height, seed)
    case = {"pattern": kind, "seed": seed, "width": width, "height": height}
    for backend in BACKENDS:
        resized, values, grid = run(backend, config, rgb)
        case["resized"], case["grid"] = [resized.shape[1], resized.shape[0]], grid
        case[backend] = {"rgb": sha(resized)}
        if resized.shape[0] * resized.shape[1] <= MAX_HASHED_PIXELS:
            case[backend]["values"] = sha(values)
            case[backend]["shape"] = list(values.shape)
    return case


def processed():
    cases = []
    for name in PRESETS:
        for i, (height, width) in enumerate(SIZES + ODD_SIZES):
            kinds = ["noise"] if height * width > 4_000_000 else ["noise", "screen", "gradient", "checker", "flat"]
            # Every size meets noise; the other patterns take turns, all of them on small pictures.
            if height * width > 200_000 and len(kinds) > 1:
                kinds = ["noise", kinds[1 + i % 4]]
            for kind in kinds:
                cases.append({"preset": name, **processed_case(PRESETS[name], kind, 1 + i, height, width)})
                print(name, kind, height, width, cases[-1]["resized"], flush=True)
    return cases


def variants():
    """Switches and factors away from their usual values."""
    base = {**PRESETS["qwen2"], "size": {"shortest_edge": 3136, "longest_edge": 20000}}
    changes = [{"do_rescale": False}, {"do_normalize": False}, {"do_rescale": False, "do_normalize": False},
               {"do_resize": False}, {"rescale_factor": 1 / 127.5}, {"rescale_factor": 0.00392156862745098},
               {"merge_size": 1}, {"merge_size": 3}, {"temporal_patch_size": 1}, {"temporal_patch_size": 3},
               {"image_mean": [0.1, 0.2, 0.3], "image_std": [1.0, 0.7, 0.3]}, {"patch_size": 5}]
    return [{"config": {**base, **change}, **processed_case({**base, **change}, "noise", 90 + i, 112, 168)}
            for i, change in enumerate(changes)]


def torch_resize(rgb, width, height):
    """None for a result one pixel wide or high: torch 2.15 fails an internal assertion there or gives results that
    depend on the memory layout. The processors never ask for one."""
    if width == 1 or height == 1:
        return None
    tensor = torch.from_numpy(rgb).permute(2, 0, 1).contiguous()[None]
    resize = lambda t: tvF.resize(t, [height, width], interpolation=tvF.InterpolationMode.BICUBIC, antialias=True)
    out = resize(tensor)
    # Neither memory layout nor batch size may matter.
    assert torch.equal(out, resize(tensor.contiguous(memory_format=torch.channels_last)))
    assert torch.equal(out, resize(tensor.repeat(2, 1, 1, 1))[1:])
    return out[0].permute(1, 2, 0).numpy()


def pil_resize(rgb, width, height):
    return np.asarray(Image.fromarray(rgb).resize((width, height), Image.Resampling.BICUBIC))


def resized():
    rng = random.Random(SEED)
    kinds = ["noise", "checker", "gradient", "screen", "flat"]
    shapes = [(1, 1, 9, 9), (1, 1, 1, 2), (1, 50, 7, 3), (50, 1, 3, 7), (9, 9, 1, 1), (200, 3, 1, 3), (3, 200, 3, 1),
              (2, 2, 200, 200), (1000, 7, 3, 7), (4096, 2, 17, 64), (301, 299, 300, 299), (301, 299, 301, 300),
              (3, 1000, 5, 40), (3, 1000, 2, 40), (1000, 3, 40, 5), (2, 2000, 2, 31), (2, 2000, 31, 1999)]
    limits = [12, 60, 200]
    while len(shapes) < 400:
        limit = limits[len(shapes) % 3]
        shapes.append(tuple(rng.randint(1, limit) for _ in range(4)))
    cases = []
    for i, (width, height, to_width, to_height) in enumerate(shapes):
        kind, seed = kinds[i % 5], 1 + i % 11
        rgb = pattern(kind, width, height, seed)
        a, b = torch_resize(rgb, to_width, to_height), pil_resize(rgb, to_width, to_height)
        case = {"pattern": kind, "seed": seed, "from": [width, height], "to": [to_width, to_height], "pil": sha(b)}
        if a is not None:
            difference = np.abs(a.astype(int) - b.astype(int))
            case |= {"torchvision": sha(a), "bytes_that_differ": int((difference > 0).sum()),
                     "largest_difference": int(difference.max())}
        cases.append(case)
    return cases


def png(width, height, depth, colour, rows, extra=b""):
    """A PNG of a kind that Pillow does not write. `rows` are packed samples."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    raw = b"".join(b"\0" + row for row in rows)
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(raw, 9))
            + chunk(b"IEND", b""))


def samples(count, bits, seed):
    values = hashed(np.arange(count, dtype=np.uint32), seed).astype(np.uint32)
    if bits == 16:
        values = values * 256 + hashed(np.arange(count, dtype=np.uint32), seed + 1)
    return values & ((1 << bits) - 1)


def raw_rows(width, height, depth, channels, seed):
    rows = []
    for y in range(height):
        values = samples(width * channels, depth, seed + 2 * y)
        if depth == 16:
            rows.append(values.astype(">u2").tobytes())
        elif depth == 8:
            rows.append(values.astype(np.uint8).tobytes())
        else:
            bits = "".join(format(int(v), f"0{depth}b") for v in values)
            bits += "0" * (-len(bits) % 8)
            rows.append(int(bits, 2).to_bytes(len(bits) // 8, "big"))
    return rows


def trns(data):
    return struct.pack(">I", len(data)) + b"tRNS" + data + struct.pack(">I", zlib.crc32(b"tRNS" + data))


def plte(data):
    return struct.pack(">I", len(data)) + b"PLTE" + data + struct.pack(">I", zlib.crc32(b"PLTE" + data))


def saved(image, format, **options):
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def picture_files():
    """name -> bytes, one for each way a file can hold colour."""
    width, height = 13, 9
    files = {}
    for depth in (1, 2, 4, 8, 16):
        files[f"grey{depth}.png"] = png(width, height, depth, 0, raw_rows(width, height, depth, 1, depth))
    palette = samples(256 * 3, 8, 3).astype(np.uint8).tobytes()
    for depth in (1, 2, 4, 8):
        colours = plte(palette[: 3 << depth])
        rows = raw_rows(width, height, depth, 1, 20 + depth)
        files[f"palette{depth}.png"] = png(width, height, depth, 3, rows, colours)
        files[f"palette{depth}-transparent.png"] = png(width, height, depth, 3, rows, colours + trns(b"\0\x80"))
    for name, colour, channels in (("rgb", 2, 3), ("grey-alpha", 4, 2), ("rgba", 6, 4)):
        for depth in (8, 16):
            files[f"{name}{depth}.png"] = png(width, height, depth, colour, raw_rows(width, height, depth, channels, 40))
    rows = raw_rows(width, height, 8, 3, 50)
    files["rgb8-transparent.png"] = png(width, height, 8, 2, rows, trns(b"\0" + rows[0][:1] + b"\0" + rows[0][1:2] + b"\0" + rows[0][2:3]))
    rows = raw_rows(width, height, 8, 1, 51)
    files["grey8-transparent.png"] = png(width, height, 8, 0, rows, trns(b"\0" + rows[0][:1]))
    rgb = pattern("screen", 61, 45, 5)
    image = Image.fromarray(rgb)
    alpha = Image.fromarray(np.dstack([rgb, pattern("noise", 61, 45, 6)[:, :, 0]]))
    files["rgb.bmp"] = saved(image, "BMP")
    files["palette.bmp"] = saved(image.quantize(17), "BMP")
    files["grey.bmp"] = saved(image.convert("L"), "BMP")
    files["rgba.bmp"] = saved(alpha, "BMP")
    files["lossless.webp"] = saved(image, "WEBP", lossless=True)
    files["lossless-alpha.webp"] = saved(alpha, "WEBP", lossless=True, exact=True)
    other = Image.fromarray(255 - rgb)
    files["animated.webp"] = saved(image, "WEBP", lossless=True, save_all=True, append_images=[other], duration=50)
    files["lossy.webp"] = saved(image, "WEBP", quality=60)
    files["lossy-alpha.webp"] = saved(alpha, "WEBP", quality=60)
    files["still.gif"] = saved(image.quantize(31), "GIF")
    files["animated.gif"] = saved(image.quantize(31), "GIF", save_all=True, append_images=[other.quantize(31)])
    files["transparent.gif"] = saved(image.quantize(31), "GIF", transparency=3)
    # EXIF says "rotate by 90 degrees"; the stored pixels are what counts.
    exif = Image.Exif()
    exif[274] = 6
    files["rotated.png"] = saved(image, "PNG", exif=exif.tobytes())
    return files


def decoded():
    cases = []
    FILES.mkdir(exist_ok=True)
    for name, data in picture_files().items():
        (FILES / name).write_bytes(data)
        image = Image.open(io.BytesIO(data))
        rgb = np.asarray(image.convert("RGB"))
        cases.append({"file": name, "mode": image.mode, "width": image.width, "height": image.height, "rgb": sha(rgb)})
    return cases


def shown():
    """Whole pictures, to look at when a hash differs."""
    cases = []
    for kind, seed, width, height, preset_name in (("screen", 3, 90, 70, "small"), ("noise", 4, 61, 45, "small"),
                                                   ("checker", 1, 200, 35, "small")):
        rgb = pattern(kind, width, height, seed)
        stem = f"shown-{kind}"
        Image.fromarray(rgb).save(FILES / f"{stem}.png")
        for backend in BACKENDS:
            out, _, _ = run(backend, PRESETS[preset_name], rgb)
            Image.fromarray(out).save(FILES / f"{stem}-{backend}.png")
        cases.append({"file": f"{stem}.png", "preset": preset_name,
                      "torchvision": f"{stem}-torchvision.png", "pil": f"{stem}-pil.png"})
    return cases


def jpegs(folder):
    cases = []
    for path in sorted(Path(folder).glob("*.jpg")):
        rgb = np.asarray(Image.open(path).convert("RGB"))
        ys, xs = [np.linspace(0, n - 1, 24).astype(int) for n in rgb.shape[:2]]
        cases.append({"file": path.name, "width": rgb.shape[1], "height": rgb.shape[0], "rgb": sha(rgb),
                      "mean": [float(m) for m in rgb.reshape(-1, 3).mean(0)],
                      "rows": ys.tolist(), "columns": xs.tolist(), "samples": rgb[np.ix_(ys, xs)].reshape(-1).tolist()})
    return cases


def digest_of_resized():
    return hashlib.sha256(json.dumps(resized()).encode()).hexdigest()


def capabilities():
    """The same results whatever vector instructions torch uses: asserted, and recorded."""
    found = {}
    for name in ("default", "avx2", "avx512"):
        env = {**os.environ, "ATEN_CPU_CAPABILITY": name}
        out = subprocess.run([sys.executable, __file__, "--digest"], env=env, capture_output=True, text=True, check=True)
        capability, found[name] = out.stdout.split()[-2:]
        print(name, capability, found[name][:16], flush=True)
    assert len(set(found.values())) == 1, found
    return sorted(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jpegs")
    parser.add_argument("--digest", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.digest:
        print(torch.backends.cpu.get_cpu_capability().replace(" ", "_"), digest_of_resized())
        return
    target = HERE / "image.json"
    golden = {
        "made_by": "image.py", "seed": SEED, "python": platform.python_version(), "machine": platform.machine(),
        "torch": torch.__version__, "torchvision": torchvision.__version__, "transformers": transformers.__version__,
        "pillow": PIL.__version__, "numpy": np.__version__,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(), "cpu_capabilities_that_agree": capabilities(),
        "presets": PRESETS, "decoded": decoded(), "shown": shown(), "resized": resized(), "variants": variants(),
        "processed": processed(),
    }
    if arguments.jpegs:
        golden["jpeg"] = jpegs(arguments.jpegs)
    # One case a line, so that a diff of the golden file can be read.
    lines = []
    for key, value in golden.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines.append(f"{json.dumps(key)}: [\n" + ",\n".join(json.dumps(case) for case in value) + "\n]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(target, target.stat().st_size)


if __name__ == "__main__":
    main()
