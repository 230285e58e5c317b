//! Delaunay triangulations of random points.

use crate::error::{Error, Result};
use crate::formats::{Cleaned, Directions, undirected};
use crate::io::generate::geometric::{Points, side_for};
use spade::{DelaunayTriangulation, Point2, Triangulation};

/// The Delaunay triangulation of `count` random points in the unit square.
pub(super) fn delaunay(count: usize, seed: u64) -> Result<Cleaned> {
    let points = Points::new(count, side_for(count), seed);
    let places = points.places.iter().map(|&[x, y]| Point2::new(x, y));
    let triangles: DelaunayTriangulation<Point2<f64>> = DelaunayTriangulation::bulk_load_stable(places.collect())
        .map_err(|error| Error::invalid(format!("delaunay: {error}")))?;
    drop(points);
    let edges = triangles.undirected_edges().map(|edge| {
        let [from, to] = edge.vertices();
        (from.index() as u32, to.index() as u32)
    });
    let edges = edges.collect();
    drop(triangles);
    undirected(count, vec![edges], Directions::Ignored)
}
