//! Graphs, and the time of a call.

use std::time::Instant;
use vxm::io;
use vxm::prelude::*;

/// Where the tables are made, and of which graphs.
pub struct Setting {
    pub device: Device,
    /// By how many powers of two graphs are smaller than the paper's.
    pub smaller: u32,
    /// Files of further graphs.
    pub files: Vec<String>,
}

impl Default for Setting {
    fn default() -> Self {
        Self { device: Device::Cpu, smaller: 7, files: Vec::new() }
    }
}

impl Setting {
    /// `rmat`, `kron`, `er`, `rgg` or `delaunay` of a scale, made smaller; 10 is the least scale.
    pub fn scaled(&self, kind: &str, scale: u32, rest: &str) -> String {
        format!("{kind}:{}{rest}", scale.saturating_sub(self.smaller).max(10))
    }

    /// A side of a grid or a road network, made smaller; 32 is the least.
    pub fn side(&self, side: usize) -> usize {
        (side >> (self.smaller / 2)).max(32)
    }

    /// The milliseconds of a call: the median of five, after one to warm up.
    pub fn milliseconds<R>(&self, mut f: impl FnMut() -> Result<R>) -> Result<f64> {
        let mut times = Vec::new();
        f()?;
        for _ in 0..5 {
            self.device.synchronize()?;
            let start = Instant::now();
            f()?;
            self.device.synchronize()?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[2])
    }

    /// A graph by its generator or its file, on the host and on the device.
    pub fn graph(&self, name: &str) -> Result<Graph> {
        let is_file = self.files.iter().any(|file| file == name);
        let loaded = if is_file { io::read(name, &()) } else { io::generate(name, &()) }?;
        let host = Matrix::from_simple(loaded.graph);
        let there = host.to(self.device)?;
        let shown = name.rsplit('/').next().unwrap_or(name).to_owned();
        Ok(Graph { name: shown, host, there })
    }

    /// The graphs of the files.
    pub fn of_files(&self) -> impl Iterator<Item = String> + '_ {
        self.files.iter().cloned()
    }
}

/// A graph.
pub struct Graph {
    pub name: String,
    pub host: Matrix,
    /// On the device that is measured.
    pub there: Matrix,
}

impl Graph {
    pub fn vertices(&self) -> usize {
        self.host.nrows()
    }

    /// Entries of the matrix: each edge twice, as the papers count.
    pub fn entries(&self) -> u64 {
        self.host.nnz()
    }

    pub fn mean_degree(&self) -> f64 {
        self.entries() as f64 / self.vertices().max(1) as f64
    }

    pub fn greatest_degree(&self) -> usize {
        let csr = self.host.csr();
        if csr.nrows() == 0 { 0 } else { csr.degree(csr.longest()) }
    }
}
