//! Charts as SVG text. The style sheet gives each of the colours below another one on a dark page.

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::collections::BTreeSet;
use std::fmt::Display;
use vxm::{Error, Result};

/// Text and axes.
const INK: RGBColor = RGBColor(0x24, 0x29, 0x2f);
/// Lines of the mesh.
const MESH: RGBColor = RGBColor(0xd8, 0xde, 0xe4);
/// What is drawn.
const FIRST: RGBColor = RGBColor(0x1f, 0x6f, 0xeb);
/// What is drawn beside it.
const SECOND: RGBColor = RGBColor(0xc2, 0x5e, 0x0a);

const SIZE: (u32, u32) = (440, 300);
const FONT: i32 = 18;

/// A line of a chart: its name, and its points.
pub type Line<'a> = (&'a str, &'a [(f64, f64)]);

fn failed(error: impl Display) -> Error {
    Error::invalid(format!("a chart of the report: {error}"))
}

/// Points on logarithmic axes from 1 on. Points that would lie on one another are drawn once.
pub fn scatter(points: &[(u64, u64)], x: &str, y: &str) -> Result<String> {
    let points: Vec<(f64, f64)> = points.iter().filter(|(x, _)| *x > 0).map(|&(x, y)| (x as f64, y as f64)).collect();
    let most = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(10.0, f64::max) * 1.5;
    let (right, top) = (most(|p| p.0), most(|p| p.1));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut builder = ChartBuilder::on(&root);
        builder.margin(10).margin_right(18).x_label_area_size(50).y_label_area_size(66);
        let mut chart = builder.build_cartesian_2d((0.8..right).log_scale(), (0.8..top).log_scale()).map_err(failed)?;
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(x)
            .y_desc(y)
            .label_style(text())
            .axis_style(INK)
            .bold_line_style(MESH)
            .light_line_style(TRANSPARENT);
        mesh.x_labels(6).y_labels(6).x_label_formatter(&|x| short(*x)).y_label_formatter(&|y| short(*y));
        mesh.draw().map_err(failed)?;
        let pixel = |(x, y): &(f64, f64)| {
            ((x.log10() / right.log10() * 360.0) as i32, (y.log10() / top.log10() * 240.0) as i32)
        };
        let mut drawn = BTreeSet::new();
        let apart = points.iter().filter(|point| drawn.insert(pixel(point)));
        chart.draw_series(apart.map(|&point| Circle::new(point, 2, FIRST.filled()))).map_err(failed)?;
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

/// A bar for each class, with its count above it.
pub fn bars(classes: &[(String, u64)], x: &str, y: &str) -> Result<String> {
    let most = classes.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1) as f64;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut builder = ChartBuilder::on(&root);
        builder.margin(10).margin_right(18).x_label_area_size(50).y_label_area_size(66);
        let steps = (0..classes.len() as i32).into_segmented();
        let mut chart = builder.build_cartesian_2d(steps, 0.0..most * 1.12).map_err(failed)?;
        let name = |place: &SegmentValue<i32>| match place {
            SegmentValue::CenterOf(k) => classes.get(*k as usize).map_or(String::new(), |(name, _)| name.clone()),
            _ => String::new(),
        };
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(x)
            .y_desc(y)
            .label_style(text())
            .axis_style(INK)
            .bold_line_style(MESH)
            .light_line_style(TRANSPARENT);
        mesh.disable_x_mesh().x_labels(classes.len()).y_labels(6);
        mesh.x_label_formatter(&name).y_label_formatter(&|y| short(*y)).draw().map_err(failed)?;
        let bar = |(k, &(_, count)): (usize, &(String, u64))| {
            let (left, right) = (SegmentValue::Exact(k as i32), SegmentValue::Exact(k as i32 + 1));
            let mut bar = Rectangle::new([(left, 0.0), (right, count as f64)], FIRST.filled());
            bar.set_margin(0, 0, 4, 4);
            bar
        };
        chart.draw_series(classes.iter().enumerate().map(bar)).map_err(failed)?;
        let above = text().pos(Pos::new(HPos::Center, VPos::Bottom));
        let counts = classes.iter().enumerate().map(|(k, (_, count))| {
            let place = (SegmentValue::CenterOf(k as i32), *count as f64);
            Text::new(short(*count as f64), place, above.clone())
        });
        chart.draw_series(counts).map_err(failed)?;
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

/// One or two lines over rounds, with a logarithmic axis upwards; a point at 0 is drawn at the bottom.
pub fn lines(lines: &[Line<'_>], x: &str, y: &str) -> Result<String> {
    let all = || lines.iter().flat_map(|(_, points)| points.iter());
    let right = all().map(|p| p.0).fold(1.0, f64::max);
    let top = all().map(|p| p.1).fold(10.0, f64::max) * 1.5;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut builder = ChartBuilder::on(&root);
        builder.margin(10).margin_right(18).x_label_area_size(50).y_label_area_size(66);
        let mut chart = builder.build_cartesian_2d(Rounds(right), (0.8..top).log_scale()).map_err(failed)?;
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(x)
            .y_desc(y)
            .label_style(text())
            .axis_style(INK)
            .bold_line_style(MESH)
            .light_line_style(TRANSPARENT);
        mesh.x_labels(8).y_labels(6).x_label_formatter(&|x| short(*x)).y_label_formatter(&|y| short(*y));
        mesh.draw().map_err(failed)?;
        for ((name, points), colour) in lines.iter().zip([FIRST, SECOND]) {
            let points = points.iter().map(|&(x, y)| (x, y.max(0.8)));
            let line = LineSeries::new(points, colour.stroke_width(2)).point_size(3);
            let legend = move |(x, y)| Rectangle::new([(x, y - 4), (x + 12, y + 4)], colour.filled());
            chart.draw_series(line).map_err(failed)?.label(*name).legend(legend);
        }
        let mut legend = chart.configure_series_labels();
        legend.label_font(text()).position(SeriesLabelPosition::UpperRight).margin(6).draw().map_err(failed)?;
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

/// The axis of rounds, from 1 on: its labels are whole numbers.
struct Rounds(f64);

impl Ranged for Rounds {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (low, high): (i32, i32)) -> i32 {
        let share = (value - 0.5) / self.0;
        low + (share * f64::from(high - low)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let most = hint.max_num_points().clamp(1, 10);
        let step = (self.0 / most as f64).ceil().max(1.0);
        (0..).map(|k| 1.0 + step * f64::from(k)).take_while(|round| *round <= self.0).collect()
    }

    fn range(&self) -> core::ops::Range<f64> {
        0.5..self.0 + 0.5
    }
}

fn text() -> TextStyle<'static> {
    ("sans-serif", FONT).into_font().color(&INK)
}

/// A number in few characters, such as 1.2M.
pub fn short(number: f64) -> String {
    let (scaled, unit) = match number.abs() {
        x if x >= 1e12 => (number / 1e12, "T"),
        x if x >= 1e9 => (number / 1e9, "G"),
        x if x >= 1e6 => (number / 1e6, "M"),
        x if x >= 1e3 => (number / 1e3, "k"),
        _ => (number, ""),
    };
    let text = if scaled.abs() >= 100.0 { format!("{scaled:.0}") } else { format!("{scaled:.1}") };
    format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let told = [0.0, 1.0, 12.5, 999.0, 1000.0, 1234.0, 250_000.0, 8_383_455.0, 2e9].map(short);
        assert_eq!(told, ["0", "1", "12.5", "999", "1k", "1.2k", "250k", "8.4M", "2G"]);
    }

    #[test]
    fn charts_have_what_they_are_given() {
        let circles = |svg: &str| svg.matches("<circle").count();
        assert_eq!(circles(&scatter(&[(1, 10), (2, 100), (90, 1)], "degree", "vertices").unwrap()), 3);
        // equal on the picture
        assert_eq!(circles(&scatter(&[(1_000_000, 7), (1_000_001, 7)], "degree", "vertices").unwrap()), 1);
        assert_eq!(circles(&scatter(&[], "degree", "vertices").unwrap()), 0);
        let svg = bars(&[("one".to_owned(), 5), ("two".to_owned(), 8)], "entries", "tiles").unwrap();
        assert!(svg.contains("one") && svg.contains("two") && svg.contains("#1F6FEB"), "{svg}");
        let svg = lines(&[("active", &[(1.0, 100.0), (2.0, 0.0)])], "round", "vertices").unwrap();
        assert!(svg.contains("active") && svg.contains("polyline"), "{svg}");
    }
}
