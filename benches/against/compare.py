"""Puts the reports of one run of `benches/against/run` side by side.

    python benches/against/compare.py FOLDER

Ratios are of seconds for the whole event. A peer that measured some of the segments only is scaled by their number: `whole` altogether, for every
segment costs two forwards of its own; of `cached` what it spends on segments, not on the trunk. Agreement: differences of d_topk, in nats, over
the tokens that both have. Where the 20th and the 21st token are as good as equal, two supports are right and d differs by more than rounding.
"""

import json, pathlib, sys

FOLDER = pathlib.Path(sys.argv[1])


def load(name: str):
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def scaled(report: dict) -> float:
    if report["mode"] == "whole":
        return report["seconds"] * report["of"] / len(report["segments"])
    parts = report["parts"]
    own = parts["forward"] + parts["head"]
    return report["seconds"] + own * (report["of"] / len(report["segments"]) - 1)


def agreement(ours: dict, other: dict) -> str:
    known = dict(zip(ours["segments"], ours["d_topk"]))
    gaps = [abs(a - b) for s, d in zip(other["segments"], other["d_topk"]) for a, b in zip(known[s], d)]
    values = [a for s in other["segments"] for a in known[s]]
    beyond = sorted((g for g in gaps if g > 1e-4), reverse=True)
    within = max(g for g in gaps if g <= 1e-4) if len(beyond) < len(gaps) else 0
    return f"d differs by {within:.1e} nats at most, {len(beyond)} of {len(gaps)} tokens by more than 1e-4 {[f'{g:.1e}' for g in beyond[:3]]} (mean d {sum(values) / len(values):.3f})"


def main() -> None:
    lines = []
    for dtype in ("bf16", "f32"):
        ours = load(f"spare-{dtype}")
        if not ours:
            continue
        # What `bytes_before` holds is the weights; the trunk's cache is f32 with us.
        lines.append(f"spare {dtype} ({ours['path']}, {ours['threads']} threads): trunk {ours['trunk']}, block {ours['block']}, {ours['pushed']} tokens")
        lines.append(f"  {ours['seconds']:8.1f} s, {ours['tokens_per_second']:.0f} tokens/s, peak above weights {(ours['bytes_peak'] - ours['bytes_before']) / 1e6:.0f} MB, of it KV cache {ours['cache_bytes'] / 1e6:.0f} MB")
        for mode in ("whole", "cached"):
            for peer_dtype in ("bf16", "f32"):
                peer = load(f"{mode}-{peer_dtype}")
                if not peer:
                    continue
                seconds = scaled(peer)
                part = "" if len(peer["segments"]) == peer["of"] else f" (measured {len(peer['segments'])} of {peer['of']} segments)"
                lines.append(
                    f"  {mode:6} {peer_dtype:4} {seconds:8.1f} s{part}: {seconds / ours['seconds']:.2f} times ours; "
                    f"peak above weights {(peer['bytes_peak'] - peer['bytes_before']) / 1e6:.0f} MB, of it KV cache {peer['cache_bytes'] / 1e6:.0f} MB; "
                    f"{agreement(ours, peer)}"
                )
    for dtype in ("bf16", "f32"):
        for who in ("spare", "transformers"):
            rates = load(f"prefill-{who}-{dtype}")
            if rates:
                shown = ", ".join(f"{n} tokens: {r:.0f}" for n, r in rates["tokens_per_second"].items())
                lines.append(f"prefill, tokens/s, {who} {dtype}: {shown}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
