//! Compares every graph in ../shared/data with the facts known of it. `VXM_DATA` names another folder.

mod common;

use common::{data, facts};
use serde_json::Value;
use vxm::formats::Csr;
use vxm::io::{read, read_matrix};

fn max_degree(graph: &Csr) -> usize {
    (0..graph.nrows()).map(|v| graph.degree(v)).max().unwrap_or(0)
}

fn isolated(graph: &Csr) -> usize {
    (0..graph.nrows()).filter(|&v| graph.degree(v) == 0).count()
}

fn check(file: &str, row: &Value, name: &str, found: usize) {
    if let Some(known) = row[name].as_u64() {
        assert_eq!(found as u64, known, "{file}: {name}");
    }
}

#[test]
fn undirected_graphs_have_the_known_counts() {
    for folder in ["real", "dimacs-col", "independent-set"] {
        for (file, row) in facts(folder) {
            let loaded = read(&file, &()).unwrap();
            let graph = &loaded.graph;
            assert!(graph.is_symmetric(), "{file}");
            check(&file, &row, "vertices", graph.nrows());
            check(&file, &row, "edges", graph.nnz() / 2);
            check(&file, &row, "max_degree", max_degree(graph));
            check(&file, &row, "isolated", isolated(graph));
            let (order, degeneracy) = vxm::certify::smallest_degree_last(graph.offsets(), graph.columns());
            check(&file, &row, "degeneracy", degeneracy);
            assert_eq!(order.len(), graph.nrows());
        }
    }
}

#[test]
fn matrices_have_the_known_counts() {
    for (file, row) in facts("lagraph") {
        let known = |name: &str| row[name].as_u64();
        let matrix = match read_matrix::<f64>(&file, &()) {
            Ok(matrix) => matrix,
            Err(error) => {
                // dense and complex matrices are refused, and so are duplicates if values matter
                let told = error.to_string();
                let refused =
                    ["expected `coordinate`", "found `hermitian`", "entry 3 repeats row 2, column 2 of entry 2"];
                assert!(refused.iter().any(|why| told.contains(why)), "{told}");
                continue;
            }
        };
        check(&file, &row, "n", matrix.nrows());
        check(&file, &row, "m", matrix.ncols());
        check(&file, &row, "nnz", matrix.nnz());
        if matrix.nrows() != matrix.ncols() {
            let told = read(&file, &()).unwrap_err().to_string();
            assert!(told.contains("as many rows as columns"), "{told}");
            continue;
        }
        let loops = (0..matrix.nrows()).filter(|&v| matrix.get(v, v).is_some());
        check(&file, &row, "loops", loops.count());
        let loaded = read(&file, &()).unwrap();
        check(&file, &row, "und_edges", loaded.graph.nnz() / 2);
        check(&file, &row, "maxdeg", max_degree(&loaded.graph));
        check(&file, &row, "isolated", isolated(&loaded.graph));
        // if the pattern is symmetric, the file lists both directions or declares its symmetry
        if let Some(symmetric) = row["patsym"].as_bool() {
            assert_eq!(loaded.report.one_way.unwrap_or(0) == 0, symmetric, "{file}");
        }
        assert!(known("loops").is_none_or(|loops| loops == loaded.report.loops), "{file}");
    }
}

#[test]
fn mangled_matrices_are_refused_or_only_their_type_comment_is_wrong() {
    let Some(folder) = data().map(|data| data.join("lagraph")) else {
        return;
    };
    for (name, told) in [
        ("mangled1", "1:16: expected `matrix`, found `mangled`"),
        ("mangled2", "1:23: expected `coordinate`, found `mangled`"),
        ("mangled3", "1:34: expected `pattern` or `integer` or `real` or `double` or `complex`, found `mangled`"),
        ("mangled4", "1:39: expected `general` or `symmetric` or `skew-symmetric`, found `mangled`"),
        ("mangled5", "1:42: expected `general` or `symmetric` or `skew-symmetric`, found `hermitian`"),
        ("mangled6", "1:39: expected `general` or `symmetric` or `skew-symmetric`, found `hermitian`"),
        ("mangled7", "5:4: expected a number, found the end of the line"),
        ("mangled8", "4:2: expected the number of columns, found the end of the line"),
        ("mangled9", "4:1: expected as many rows as columns (4) of a symmetric matrix, found `3`"),
        ("mangled10", "4:1: expected as many rows as columns (4) of a graph, found `3`"),
        ("mangled13", "4:1: expected as many rows as columns (4) of a graph, found `3`"),
        ("mangled15", "1:23: expected `coordinate`, found `array`"),
        ("mangled16", "1:23: expected `coordinate`, found `array`"),
        ("mangled_format", "1:23: expected `coordinate`, found `array`"),
        ("full_noheader", "1:1: expected `%%MatrixMarket`, found `3`"),
        ("west0067_noheader", "1:1: expected `%%MatrixMarket`, found `67`"),
        ("complex", "1:23: expected `coordinate`, found `array`"),
    ] {
        let file = folder.join(name).with_extension("mtx").display().to_string();
        assert_eq!(read(&file, &()).unwrap_err().to_string(), format!("{file}:{told}"));
    }
    for (name, told) in [
        ("mangled10", ":4:5: expected 3 entries (as stated here), found 2"),
        ("mangled11", ":5:3: expected a column from 1 to 4, found `zero`"),
        ("mangled12", ":5:4: expected a value of type f64, found the end of the line"),
        ("mangled13", ":7:3: expected a column from 1 to 4, found `9999`"),
        ("mangled14", ": entry 3 repeats row 2, column 2 of entry 2"),
    ] {
        let file = folder.join(name).with_extension("mtx").display().to_string();
        let error = read_matrix::<f64>(&file, &()).unwrap_err();
        assert_eq!(error.to_string(), format!("{file}{told}"));
    }
    // only the comment with LAGraph's type is wrong, and comments are ignored
    for name in ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "skew"] {
        let file = folder.join(format!("mangled_{name}.mtx")).display().to_string();
        read_matrix::<i64>(&file, &()).unwrap();
        read(&file, &()).unwrap();
    }
}

#[test]
fn every_matrix_is_read_or_refused_in_a_line() {
    let Some(folder) = data().map(|data| data.join("lagraph")) else {
        return;
    };
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path().display().to_string();
        if file.ends_with(".mtx")
            && let Err(error) = read(&file, &())
        {
            let told = error.to_string();
            assert!(told.starts_with(&file) && !told.contains('\n'), "{told}");
        }
    }
}
