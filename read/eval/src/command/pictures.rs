//! E9: a picture whole against an overview and a part.

use spare_read::{Root, Session};
use spare_read_eval::{Error, sets};

use crate::{Options, worker};

/// Tokens of a whole picture, and of an overview and the part that matters; whether the part has the pixels of the file.
pub(crate) fn pictures(options: &Options) -> Result<(), Error> {
    let (mut whole, mut parts, mut same, mut count) = (0_u64, 0_u64, 0, 0);
    let patches = |(width, height): (u32, u32)| u64::from(width.div_ceil(32) * height.div_ceil(32));
    for seed in options.split()? {
        let picture = sets::picture(seed);
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join(picture.name), &picture.bytes)?;
        let session = Session::new(Root::open(folder.path())?).with_worker(worker()?);
        let path = std::path::Path::new(picture.name);
        let overview = session.picture(path, 1, None, 512)?;
        let [left, top, width, height] = picture.region;
        let margin = 16;
        let area = [
            left.saturating_sub(margin),
            top.saturating_sub(margin),
            (width + 2 * margin).min(picture.size.0 - left.saturating_sub(margin)),
            (height + 2 * margin).min(picture.size.1 - top.saturating_sub(margin)),
        ];
        let part = session.picture(path, 1, Some(area.map(f64::from)), 1_024)?;
        let decode = |bytes: &[u8]| {
            image::load_from_memory(bytes)
                .map(|picture| picture.to_rgb8())
                .map_err(std::io::Error::other)
        };
        let cut =
            image::imageops::crop_imm(&decode(&picture.bytes)?, area[0], area[1], area[2], area[3])
                .to_image();
        same += usize::from(decode(&part.png)? == cut);
        whole += patches(overview.of);
        parts += patches(overview.size) + patches(part.size);
        count += 1;
    }
    println!(
        "{count} pictures: {whole} tokens whole, {parts} as an overview and the part ({:.1} %); {same} parts with the pixels of the file",
        100.0 * parts as f64 / whole as f64
    );
    Ok(())
}
