//! A page, or a box of it, as a picture.

use hayro::hayro_interpret::{InterpreterSettings, TransformExt};
use hayro::kurbo::Affine;
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::vello_cpu::{Pixmap, RasterizerSettings, RenderContext, Resources, TargetInit};
use hayro::{RenderCache, RenderSettings, render_into};

use super::super::{Bounds, Fault, PictureJob, Shown};

/// Width and height shown and in all, in pixels and points, and the PNG file.
pub(in super::super) fn show(
    bytes: &[u8],
    job: &PictureJob,
    _bounds: &Bounds,
) -> Result<Shown, Fault> {
    let pdf = super::open(bytes.to_vec())?;
    let pages = pdf.pages();
    let page = (job.page as usize)
        .checked_sub(1)
        .and_then(|at| pages.get(at));
    let page = page.ok_or_else(|| {
        Fault::new(
            format_args!("page {}", job.page),
            &format!("a page from 1 to {}", pages.len()),
        )
    })?;
    let (width, height) = page.render_dimensions();
    let (width, height) = (f64::from(width), f64::from(height));
    let [left, top, w, h] = job.area.unwrap_or([0.0, 0.0, width, height]);
    let inside = left >= 0.0
        && top >= 0.0
        && w >= 1.0
        && h >= 1.0
        && left + w <= width + 1.0
        && top + h <= height + 1.0;
    if !inside {
        return Err(Fault::new(
            format_args!("box {left},{top},{w},{h}"),
            &format!("a box within {width:.0} x {height:.0} points"),
        ));
    }
    let scale = (f64::from(job.side.clamp(1, 4_096)) / w.max(h)).min(8.0);
    let size = |points: f64| ((points * scale).round() as u16).max(1);
    let mut context = RenderContext::new(size(w), size(h));
    let transform = Affine::scale(scale)
        * Affine::translate((-left, -top))
        * page.initial_transform(true).to_kurbo();
    render_into(
        page,
        &RenderCache::new(),
        &InterpreterSettings::default(),
        &RenderSettings::default(),
        &mut context,
        transform,
    );
    context.flush();
    let mut pixels = Pixmap::new(context.width(), context.height());
    context.render_with(
        &mut pixels,
        &mut Resources::default(),
        RasterizerSettings {
            target_init: TargetInit::Clear(WHITE),
            ..Default::default()
        },
    );
    let shown = (u32::from(context.width()), u32::from(context.height()));
    let png = pixels
        .into_png()
        .map_err(|error| Fault::new(format!("{error:?}"), "a page that can be drawn"))?;
    Ok(Shown {
        size: shown,
        of: (width.round() as u32, height.round() as u32),
        png,
    })
}
