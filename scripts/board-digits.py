# Makes digits.png: the ten digits as the board world draws them. Pillow 12.x, its built-in Aileron Regular (CC0) at 58 pixels, anchor "mm".
import sys
from PIL import Image, ImageDraw, ImageFont
font = ImageFont.load_default(size=58)
print(font.getname())
side = 64
strip = Image.new("L", (10 * side, side), 0)
for d in range(10):
    tile = Image.new("L", (side, side), 0)
    ImageDraw.Draw(tile).text((side // 2, side // 2), str(d), fill=255, font=font, anchor="mm")
    print(d, tile.getbbox())
    strip.paste(tile, (d * side, 0))
strip.save(sys.argv[1], optimize=True)
