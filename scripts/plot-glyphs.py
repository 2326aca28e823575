# Makes glyphs.png and its advances: printable ASCII as plots write it. Pillow 12.x, its built-in Aileron Regular (CC0) at 26 pixels, anchor "ls".
import sys
from PIL import Image, ImageDraw, ImageFont
font = ImageFont.load_default(size=26)
print(font.getname())
side, base, left = 40, 30, 6
letters = [chr(c) for c in range(0x20, 0x7F)]
strip = Image.new("L", (len(letters) * side, side), 0)
for i, letter in enumerate(letters):
    tile = Image.new("L", (side, side), 0)
    ImageDraw.Draw(tile).text((left, base), letter, fill=255, font=font, anchor="ls")
    strip.paste(tile, (i * side, 0))
strip.save(sys.argv[1], optimize=True)
print([round(font.getlength(letter)) for letter in letters])
