//! HPCGraph on GPUs: the algorithms of its section 4 (table 3), on one device.

use crate::graphs::{Graph, Setting};
use crate::row;
use crate::table::{Report, measured, name, number, time};
use vxm::algorithms::{
    PageRankOptions, bfs, components, dominant_matching, pagerank, propagate_labels, roots, weights,
};
use vxm::prelude::*;

/// An algorithm of table 3: its abbreviation there, what is run here, and its milliseconds.
type Line = (&'static str, &'static str, f64);

fn lines(setting: &Setting, graph: &Graph) -> Result<Vec<Line>> {
    let a = &graph.there;
    let weighted = weights(&graph.host, 1, 1 << 20, 0)?.to(setting.device)?;
    // parent = own min (own min.first A): each vertex points to its least neighbour, if that is below it
    let own = fill((), a.nrows()).map_index(FIRST).eval()?;
    let parents = own.ewise_add(own.vxm(a, MIN_FIRST), MIN).eval()?;
    let twenty = PageRankOptions::default().rounds(20);
    Ok(vec![
        ("BFS", "hops from vertex 0, push and pull", setting.milliseconds(|| bfs(a, 0))?),
        ("PR", "PageRank of 20 rounds, f32", setting.milliseconds(|| pagerank::<f32>(a, &twenty))?),
        ("CC", "components, by hooking and jumping", setting.milliseconds(|| components(a))?),
        ("MWM", "locally dominant matching", setting.milliseconds(|| dominant_matching(&weighted, 0))?),
        ("LP", "label propagation of 20 rounds", setting.milliseconds(|| propagate_labels(a, 20))?),
        ("PJ", "roots of a forest, by pointer jumping", setting.milliseconds(|| roots(&parents))?),
    ])
}

pub fn tables(setting: &Setting, report: &mut Report) -> Result<()> {
    let mut rows = Vec::new();
    let generated = [setting.scaled("rmat", 26, ":16"), setting.scaled("er", 26, ":16")];
    for spec in generated.into_iter().chain(setting.of_files()) {
        let graph = setting.graph(&spec)?;
        for (theirs, ours, ms) in lines(setting, &graph)? {
            let rate = graph.entries() as f64 / ms / 1e3;
            rows.push(row![graph.name, graph.vertices(), graph.entries(), theirs, ours, time(ms), number(rate)]);
        }
    }
    report.table(
        "Table 3: the algorithms",
        "On RMAT and random graphs with an edge factor of 16, the paper's own kinds (its table 4). It prints no times of one device: figures 3 to 10 \
         are plots of 1 to 400 GPUs, and figure 10 compares with cuGraph on four A100s and RMAT26. The rate is entries over time, of one pass.",
        &[
            name("graph"),
            measured("vertices"),
            measured("entries"),
            name("paper's"),
            name("ours"),
            measured("ms"),
            measured("million entries a second"),
        ],
        &rows,
    );
    Ok(())
}
