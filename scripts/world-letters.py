# Makes letters.png: the capital letters as the world draws them. Pillow 12.x, its built-in Aileron Regular (CC0) at 58 pixels, anchor "mm".
import sys
from PIL import Image, ImageDraw, ImageFont
font = ImageFont.load_default(size=58)
side = 64
strip = Image.new("L", (26 * side, side), 0)
for i in range(26):
    tile = Image.new("L", (side, side), 0)
    ImageDraw.Draw(tile).text((side // 2, side // 2), chr(65 + i), fill=255, font=font, anchor="mm")
    strip.paste(tile, (i * side, 0))
strip.save(sys.argv[1], optimize=True)
