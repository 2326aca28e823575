# Tiny Parquet files in the layouts of BLINK's Jigsaw and of VisualToolBench (its second and its first publication), made here from nothing of
# theirs. pyarrow 21 or later, Pillow 12.x. python tests/golden/bench.py tests/data/bench
import io
import json
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

out = sys.argv[1]
image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def picture(colour):
    data = io.BytesIO()
    Image.new("RGB", (8, 6), colour).save(data, "PNG")
    return {"bytes": data.getvalue(), "path": None}


def write(path, columns, rows):
    path = os.path.join(out, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    arrays = [pa.array([row.get(name) for row in rows], kind) for name, kind in columns]
    pq.write_table(pa.table(arrays, names=[name for name, _ in columns]), path)


text, texts = pa.string(), pa.list_(pa.string())
write(
    "jigsaw/Jigsaw/val-00000-of-00001.parquet",
    [("idx", text), ("question", text), ("sub_task", text), ("image_1", image), ("image_2", image), ("image_3", image), ("image_4", image),
     ("choices", texts), ("answer", text), ("prompt", text), ("explanation", text)],
    [{"idx": f"val_Jigsaw_{i}", "question": "Which piece fits?", "sub_task": "Jigsaw", "image_1": picture("red"), "image_2": picture("green"),
      "image_3": picture("blue"), "choices": ["the second image", "the third image"], "answer": answer,
      "prompt": "Which piece fits?\n(A) the second image\n(B) the third image"} for i, answer in enumerate(["(A)", "(B)"], 1)],
)
write(
    "jigsaw/Jigsaw/test-00000-of-00001.parquet",
    [("idx", text), ("answer", text)],
    [{"idx": "test_Jigsaw_1", "answer": "hidden"}],
)
calls = json.dumps([{"tool_name": "python_image_processing", "arguments": {"code": "crop"}, "output": "a sign"}, {"note": "no call"}])
write(
    "visualtoolbench/vistoolbench_3.parquet",
    [("id", text), ("turncase", text), ("num_turns", pa.int64()), ("prompt_category", text), ("eval_focus", text), ("turn_prompts", texts),
     ("turn_golden_answers", texts), ("turn_tool_trajectories", texts), ("rubrics_by_turn", texts), ("images", pa.list_(image)),
     ("images_by_turn", pa.list_(pa.list_(image))), ("num_images", pa.int64())],
    [{"id": "one", "turncase": "single-turn", "num_turns": 1, "turn_prompts": ["What does the sign say?"], "turn_golden_answers": ["STOP"],
      "turn_tool_trajectories": [calls], "rubrics_by_turn": ["{}"], "images": [picture("red")], "images_by_turn": [[picture("red")]], "num_images": 1},
     {"id": "two", "turncase": "multi-turn", "num_turns": 2, "turn_prompts": ["How many?", "And now?"], "turn_golden_answers": ["2", "3"],
      "turn_tool_trajectories": ["[]", "not JSON"], "rubrics_by_turn": ["{}", "{}"], "images": [picture("red"), picture("blue"), picture("green")],
      "images_by_turn": [[picture("red"), picture("blue")], [picture("green")]], "num_images": 3}],
)
write(
    "visualtoolbench-first/data/train-00000-of-00001.parquet",
    [("id", text), ("prompt", text), ("golden_answer", text), ("image", image), ("images", pa.list_(image)), ("tool_trajectory", text)],
    [{"id": "old", "prompt": "What colour?", "golden_answer": "red", "image": picture("red"), "images": [picture("red"), picture("red")],
      "tool_trajectory": calls}],
)
