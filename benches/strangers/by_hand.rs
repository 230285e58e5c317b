//! The algorithms of this bench as CUDA kernels written by hand, launched through the runtime alone.

use crate::{ROUNDS, Route};
use std::sync::Arc;
use vxm::Result;
use vxm::formats::Csr;
use vxm::kernels::{Buffer, Gpu, Launch, Program};

/// Rows with so many entries at most are folded by a thread, or by a warp. Longer ones take a block.
const CLASSES: [u64; 2] = [8, 512];

/// A graph on a device, with its rows by class, and the kernels.
pub struct ByHand {
    gpu: Gpu,
    program: Arc<Program>,
    n: usize,
    mean: usize,
    offsets: Buffer,
    columns: Buffer,
    list: Buffer,
    ends: [u32; 3],
}

impl ByHand {
    pub fn new(ordinal: usize, csr: &Csr) -> Result<Self> {
        let gpu = Gpu::open(ordinal)?;
        let program = gpu.program(include_str!("by_hand.cu"), &[])?;
        let offsets: Vec<u32> = csr.offsets().iter().map(|&offset| offset as u32).collect();
        let class = |row: usize| CLASSES.partition_point(|&most| csr.offsets()[row + 1] - csr.offsets()[row] > most);
        let mut list: Vec<u32> = (0..csr.nrows() as u32).collect();
        list.sort_by_key(|&row| class(row as usize));
        let ends = [0, 1, 2].map(|last| list.partition_point(|&row| class(row as usize) <= last) as u32);
        let (offsets, columns) = (gpu.upload_slice(&offsets)?, gpu.upload_slice(csr.columns())?);
        let (n, mean) = (csr.nrows(), csr.nnz() / csr.nrows().max(1));
        Ok(Self { program, n, mean, offsets, columns, list: gpu.upload_slice(&list)?, ends, gpu })
    }

    /// Launches a kernel over all rows. The words follow the graph in its parameter.
    fn each_row(&self, name: &str, words: &[u64]) -> Result<()> {
        let graph = [self.offsets.address(), self.columns.address(), self.list.address()];
        let [first, second, third] = self.ends;
        let blocks = first.div_ceil(256) + (second - first).div_ceil(8) + (third - second);
        let ends = [u64::from(first) | u64::from(second) << 32, u64::from(third)];
        self.launch(name, &[&graph[..], &ends, words].concat(), Launch::linear(blocks, 256))
    }

    fn launch(&self, name: &str, words: &[u64], launch: Launch) -> Result<()> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        // SAFETY: the words are the fields of the kernel's parameter in `by_hand.cu`, addresses of buffers that `self` and the caller keep
        unsafe { self.program.kernel(name)?.launch(launch, &bytes) }?;
        Ok(())
    }

    /// What the opinions are computed of, and places for two rounds of them.
    pub fn opinions_of(&self, kind: &[u32], degree: &[f32], first: &[f32]) -> Result<[Buffer; 5]> {
        let (gpu, bytes) = (&self.gpu, 4 * self.n);
        Ok([
            gpu.upload_slice(kind)?,
            gpu.upload_slice(degree)?,
            gpu.upload_slice(first)?,
            gpu.alloc(bytes)?,
            gpu.alloc(bytes)?,
        ])
    }

    /// Opinions after all rounds; the first one is waited for.
    pub fn opinions<'b>(&self, [kind, degree, first, one, other]: &'b [Buffer; 5]) -> Result<&'b Buffer> {
        let (mut x, mut next, mut spare) = (first, one, other);
        for _ in 0..ROUNDS {
            self.each_row("opinions", &[kind.address(), degree.address(), x.address(), next.address()])?;
            (x, next, spare) = (next, spare, next);
        }
        x.download::<f32>(1)?;
        Ok(x)
    }

    /// The logarithms of entries and of a vector, and a place for the product.
    pub fn log_sums_of(&self, logs: &[f64], x: &[f64]) -> Result<[Buffer; 3]> {
        Ok([self.gpu.upload_slice(logs)?, self.gpu.upload_slice(x)?, self.gpu.alloc(8 * self.n)?])
    }

    /// A product over log-sum-exp; its first element is waited for.
    pub fn log_sums(&self, [logs, x, sums]: &[Buffer; 3]) -> Result<()> {
        self.each_row("log_sums", &[logs.address(), x.address(), sums.address()])?;
        sums.download::<f64>(1)?;
        Ok(())
    }

    /// The widths of edges, the first routes, and places for what changes: routes, lists of vertices, rounds, and sizes.
    pub fn widest_of(&self, widths: &[u32], first: &[Route]) -> Result<[Buffer; 6]> {
        let gpu = &self.gpu;
        let first: Vec<u64> = first.iter().map(|route| packed(*route)).collect();
        Ok([
            gpu.upload_slice(widths)?,
            gpu.upload_slice(&first)?,
            gpu.alloc(8 * self.n)?,
            gpu.zeroed(8 * self.n)?,
            gpu.alloc(4 * self.n)?,
            gpu.alloc(16)?,
        ])
    }

    /// The widest routes from vertex 0; its own is waited for.
    pub fn widest(&self, [widths, first, route, queue, seen, sizes]: &mut [Buffer; 6]) -> Result<()> {
        route.copy_from(first, 8 * self.n)?;
        seen.fill_zero()?;
        // the first list is vertex 0
        queue.fill_at(0, 4, 0)?;
        sizes.upload_at(0, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
        let lanes = self.mean.clamp(1, 32).next_power_of_two();
        let addresses = [&self.offsets, &self.columns, widths, route, queue, seen, sizes].map(Buffer::address);
        let words = [&addresses[..], &[self.n as u64, lanes as u64]].concat();
        let blocks = 2 * self.gpu.multiprocessors();
        self.launch("widest", &words, Launch::linear(blocks, 512).cooperative())?;
        route.download::<u64>(1)?;
        Ok(())
    }

    /// The routes that [`widest`](Self::widest) found.
    pub fn routes(&self, [_, _, route, ..]: &[Buffer; 6]) -> Result<Vec<Route>> {
        Ok(route.download::<u64>(self.n)?.into_iter().map(unpacked).collect())
    }
}

/// A route as a number that is greater for a better route.
fn packed(route: Route) -> u64 {
    u64::from(route.width) << 32 | u64::from(u32::MAX - route.edges)
}

fn unpacked(word: u64) -> Route {
    Route { width: (word >> 32) as u32, edges: u32::MAX - word as u32 }
}
