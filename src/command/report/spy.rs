//! Spy plots: pictures of where a matrix has entries, as PNG with a palette.

use crate::command::report::facts::class;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use vxm::formats::Csr;
use vxm::semiring::Element;
use vxm::{Error, Result};

/// The most pixels along a side of the plot of a whole matrix.
const SIDE: usize = 400;

/// Rows and columns of the sample: 16 x 16 tiles of 16 x 16 entries.
const SAMPLE: usize = 256;

/// The sample is drawn with this many pixels along the side of an entry.
const SCALE: usize = 2;

/// A picture, as the address of an image.
pub struct Picture {
    pub address: String,
    /// What a pixel, or the whole picture, stands for.
    pub first: usize,
    pub count: usize,
}

/// The whole matrix: the darker a pixel, the more entries are in the block that it stands for, on a logarithmic scale.
pub fn whole<T: Element>(graph: &Csr<T>) -> Result<Picture> {
    let (rows, columns) = (graph.nrows().max(1), graph.ncols().max(1));
    let side = SIDE.min(rows.max(columns));
    let counts: Vec<AtomicU32> = (0..side * side).map(|_| AtomicU32::new(0)).collect();
    (0..graph.nrows()).into_par_iter().with_min_len(1024).for_each(|i| {
        let start = i * side / rows * side;
        // columns ascend, so runs of entries fall into one pixel
        let mut run = (0, 0);
        for &j in graph.row(i).0 {
            let place = j as usize * side / columns;
            if place != run.0 {
                counts[start + run.0].fetch_add(run.1, Ordering::Relaxed);
                run = (place, 0);
            }
            run.1 += 1;
        }
        counts[start + run.0].fetch_add(run.1, Ordering::Relaxed);
    });
    let counts: Vec<u32> = counts.into_iter().map(AtomicU32::into_inner).collect();
    let most = f64::from(counts.iter().copied().max().unwrap_or(0)).ln_1p().max(f64::MIN_POSITIVE);
    // few shades compress well
    let shade = |&count: &u32| if count == 0 { 0 } else { 1 + (14.0 * f64::from(count).ln_1p() / most) as u8 };
    let pixels: Vec<u8> = counts.iter().map(shade).collect();
    Ok(Picture { address: png(side, &pixels, &shades())?, first: 0, count: graph.nrows() })
}

/// A sample of consecutive rows, and the same columns, in which entries are dense, with the shade of each tile by its number of entries.
pub fn sample<T: Element>(graph: &Csr<T>) -> Result<Picture> {
    let n = graph.nrows().min(graph.ncols());
    let inside = |first: usize| {
        let window = first as u32..(first + SAMPLE).min(n) as u32;
        let rows = window.clone().map(|i| graph.row(i as usize).0);
        rows.map(|row| row.partition_point(|j| *j < window.end) - row.partition_point(|j| *j < window.start)).sum()
    };
    let windows = (0..n.div_ceil(SAMPLE)).into_par_iter();
    let densest = windows.map(|k| (inside(k * SAMPLE), core::cmp::Reverse(k))).max();
    let first = densest.map_or(0, |(_, core::cmp::Reverse(k)): (usize, _)| k * SAMPLE);
    let count = SAMPLE.min(n - first);
    let mut entry = vec![false; SAMPLE * SAMPLE];
    for i in 0..count {
        let near = graph.row(first + i).0.iter().map(|&j| j as usize);
        near.filter(|j| (first..first + count).contains(j)).for_each(|j| entry[i * SAMPLE + j - first] = true);
    }
    let tiles = SAMPLE / 16;
    let mut filled = vec![0; tiles * tiles];
    (0..SAMPLE * SAMPLE)
        .filter(|&at| entry[at])
        .for_each(|at| filled[at / SAMPLE / 16 * tiles + at % SAMPLE / 16] += 1);
    let side = SAMPLE * SCALE;
    let pixel = |at: usize| {
        let (i, j) = (at / side / SCALE, at % side / SCALE);
        match (entry[i * SAMPLE + j], filled[i / 16 * tiles + j / 16]) {
            (true, _) => ENTRY,
            (false, 0) => 0,
            (false, entries) => 1 + class(entries) as u8,
        }
    };
    let pixels: Vec<u8> = (0..side * side).map(pixel).collect();
    Ok(Picture { address: png(side, &pixels, &tile_shades())?, first, count })
}

/// The place of an entry's colour in the palette of a sample.
const ENTRY: u8 = 10;

/// A colour with its opacity. Pictures are transparent, so they fit light and dark pages.
type Shade = [u8; 4];

/// Shades of blocks by their number of entries; the first is none.
fn shades() -> Vec<Shade> {
    (0..=15).map(|k| [0x2f, 0x7f, 0xe8, if k == 0 { 0 } else { 45 + 14 * k as u8 }]).collect()
}

/// Shades of a sample: none, nine classes of tiles, an entry.
fn tile_shades() -> Vec<Shade> {
    let tiles = (1..=9).map(|k| [0xd9, 0x77, 0x1c, 26 + 12 * k]);
    std::iter::once([0; 4]).chain(tiles).chain([[0x2f, 0x7f, 0xe8, 255]]).collect()
}

/// A square picture of `side` pixels a side with a palette of at most 16 colours.
fn png(side: usize, pixels: &[u8], palette: &[Shade]) -> Result<String> {
    let failed = |error: png::EncodingError| Error::invalid(format!("a picture of the report: {error}"));
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side as u32, side as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Four);
    encoder.set_palette(palette.iter().flat_map(|[red, green, blue, _]| [*red, *green, *blue]).collect::<Vec<u8>>());
    encoder.set_trns(palette.iter().map(|[.., opacity]| *opacity).collect::<Vec<u8>>());
    encoder.set_compression(png::Compression::High);
    let rows = pixels.chunks(side.max(1));
    // two pixels a byte; a row ends with a whole byte
    let packed: Vec<u8> =
        rows.flat_map(|row| row.chunks(2).map(|two| two[0] << 4 | two.get(1).copied().unwrap_or(0))).collect();
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&packed).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(format!("data:image/png;base64,{}", BASE64_STANDARD.encode(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vxm::io::generate;

    /// The size and the pixels of a picture.
    fn decoded(picture: &Picture) -> (u32, Vec<u8>) {
        let bytes = BASE64_STANDARD.decode(picture.address.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::IDENTITY);
        let mut reader = decoder.read_info().unwrap();
        let mut packed = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut packed).unwrap();
        (info.width, packed.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect())
    }

    #[test]
    fn pixels_are_where_entries_are() {
        // 4 x 5 vertices: an entry beside the diagonal unless a row of the grid ends, and entries five away from it
        let graph = generate("grid:4x5", &()).unwrap().graph;
        let (side, pixels) = decoded(&whole(&graph).unwrap());
        assert_eq!(side, 20);
        for i in 0..20 {
            for j in 0..20 {
                let (low, high) = (i.min(j), i.max(j));
                let edge = high - low == 5 || (high - low == 1 && high % 5 != 0);
                assert_eq!(pixels[i * 20 + j] > 0, edge, "{i} {j}");
            }
        }
    }

    #[test]
    fn the_sample_is_where_entries_are_dense() {
        // vertices 0 to 511 are without edges, and 512 to 519 are complete
        let pairs = (512..520u32).flat_map(|i| (512..520).filter(move |&j| j != i).map(move |j| (i, j)));
        let (mut offsets, mut columns) = (vec![0u64], Vec::new());
        for i in 0..600 {
            columns.extend(pairs.clone().filter(|pair| pair.0 == i).map(|pair| pair.1));
            offsets.push(columns.len() as u64);
        }
        let graph = Csr::<()>::try_new(600, 600, offsets, columns, vec![(); 56]).unwrap();
        let picture = sample(&graph).unwrap();
        assert_eq!((picture.first, picture.count), (512, 88));
        let (side, pixels) = decoded(&picture);
        assert_eq!(side as usize, SAMPLE * SCALE);
        let drawn = pixels.iter().filter(|&&pixel| pixel == ENTRY).count();
        assert_eq!(drawn, 56 * SCALE * SCALE);
        // the tile has 56 entries, so its other pixels have the shade of 33 to 64
        assert_eq!(pixels.iter().filter(|&&pixel| pixel == 7).count(), (256 - 56) * SCALE * SCALE);
    }

    #[test]
    fn a_graph_without_vertices_is_drawn() {
        let graph = generate("grid:0x0", &()).unwrap().graph;
        assert!(whole(&graph).is_ok() && sample(&graph).is_ok());
    }
}
