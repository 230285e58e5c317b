//! Answers: equal for all options that must not change them, and numbered as in the graph file.

use crate::harness::{HEADER, answer, numbers, run, text};
use serde_json::json as value;
use std::collections::HashMap;
use std::fs;

#[test]
fn answers_are_equal_for_threads_and_formats() {
    let folder = tempfile::tempdir().unwrap();
    for graph in ["rmat:11:8", "grid:37x41", "road:40"] {
        for algorithm in [
            &["mis"][..],
            &["mis", "--priority", "sorted"],
            &["mis", "--priority", "sorted", "--formulation", "count"],
            &["color"],
            &["color", "--method", "hash"],
            &["bfs", "--source", "7"],
            &["components"],
        ] {
            let mut digests = HashMap::<String, Vec<String>>::new();
            for threads in ["1", "2"] {
                for format in ["auto", "csr", "tiles", "hybrid"] {
                    let more = [graph, "--threads", threads, "--format", format];
                    let told = answer(folder.path(), &[algorithm, &more].concat());
                    assert_eq!(told["valid"], true);
                    assert_eq!(told["threads"].to_string(), threads);
                    digests.entry(told["digest"].to_string()).or_default().push(format!("{threads} {format}"));
                }
            }
            assert_eq!(digests.len(), 1, "{graph} {algorithm:?}: {digests:?}");
        }
    }
    let digest = |more: &[&str]| answer(folder.path(), &[&["mis", "rmat:11:8"], more].concat())["digest"].to_string();
    let sorted = ["--priority", "sorted"];
    assert_eq!(digest(&sorted), digest(&[&sorted[..], &["--formulation", "count"]].concat()));
    assert_ne!(digest(&[]), digest(&["--seed", "1"]), "the seed matters");
}

#[test]
fn other_numbers_change_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // vertices with large scattered numbers, in no order
    let edges =
        (0u64..60).map(|k| format!("{} {}\n", (k * 37 % 61) * 1_000_003 + 5, ((k + 1) * 37 % 61) * 1_000_003 + 5));
    fs::write(folder.join("path.txt"), edges.collect::<String>()).unwrap();
    fs::write(folder.join("lone.mtx"), format!("{HEADER}7 7 2\n3 1\n7 4\n")).unwrap();
    for graph in ["rmat:9:8", "grid:17x19", "path.txt", "lone.mtx"] {
        let source = if graph == "path.txt" { "5" } else { "3" };
        for algorithm in [
            &["mis"][..],
            &["mis", "--priority", "sorted-id"],
            &["mis", "--best-of", "9", "--seed", "4"],
            &["color"],
            &["color", "--method", "min-max", "--order", "natural"],
            &["bfs", "--source", source],
            &["sssp", "--source", source, "--weights", "1..50"],
            &["components"],
            &["kcore"],
            &["triangles"],
            &["clustering"],
        ] {
            let told = |order: &str| {
                let more = [
                    graph,
                    "--reorder",
                    order,
                    "--format",
                    if order == "rcm" { "tiles" } else { "auto" },
                    "--out",
                    order,
                ];
                // weights are drawn for a graph that then has them, and tiles have none
                let more = if algorithm[0] == "sssp" { [&more[..3], &more[5..]].concat() } else { more.to_vec() };
                let told = answer(folder, &[algorithm, &more].concat());
                assert_eq!(told["valid"], true, "{graph} {algorithm:?} {order}");
                assert_eq!(told.get("reorder"), Some(&value!(order)).filter(|_| order != "none"));
                (told["digest"].clone(), fs::read_to_string(folder.join(order)).unwrap())
            };
            let expected = told("none");
            for order in ["rcm", "degree"] {
                assert!(told(order) == expected, "{graph} {algorithm:?} {order}");
            }
        }
    }
}

#[test]
fn the_best_of_several_sets_is_that_of_its_seed() {
    let folder = tempfile::tempdir().unwrap();
    for (graph, priority) in [("rmat:11:8", "resolve"), ("grid:37x41", "sorted"), ("road:40", "random")] {
        let set = |more: &[&str]| answer(folder.path(), &[&["mis", graph, "--priority", priority], more].concat());
        let single: Vec<_> = (7..25).map(|seed| set(&["--seed", &seed.to_string()])).collect();
        let sizes = || single.iter().map(|told| told["size"].as_u64().unwrap());
        let (largest, smallest) = (sizes().max().unwrap(), sizes().min().unwrap());
        let best = sizes().position(|size| size == largest).unwrap();
        let told = set(&["--best-of", "18", "--seed", "7"]);
        assert_eq!(told["best_seed"], 7 + best, "{graph}");
        assert_eq!((&told["size"], &told["digest"]), (&value!(largest), &single[best]["digest"]), "{graph}");
        assert_eq!((&told["smallest"], &told["best_of"]), (&value!(smallest), &value!(18)), "{graph}");
        assert_eq!(told["valid"], true);
    }
    let output = run(folder.path(), &["mis", "grid:3x3", "--best-of", "2"]);
    assert!(text(&output.stdout).contains("independent set of 5 vertices (55.56 %), by seed "), "{output:?}");
}

#[test]
fn answers_are_written_in_the_files_own_numbering() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // a path of four vertices in three files: numbered from 1, by large scattered ids, and from 1
    fs::write(folder.join("path.mtx"), format!("{HEADER}4 4 3\n2 1\n3 2\n4 3\n")).unwrap();
    fs::write(folder.join("path.txt"), "# ids\n70 5000000000\n5000000000 12\n12 900\n").unwrap();
    fs::write(folder.join("path.col"), "c path\np edge 4 3\ne 1 2\ne 2 3\ne 3 4\n").unwrap();
    for (file, path) in
        [("path.mtx", [1, 2, 3, 4]), ("path.txt", [70, 5_000_000_000, 12, 900]), ("path.col", [1, 2, 3, 4])]
    {
        let told = answer(folder, &["mis", file, "--out", "set"]);
        assert_eq!((&told["graph"], &told["edges"], &told["valid"]), (&value!("path"), &value!(3), &value!(true)));
        let set: Vec<u64> = numbers(&folder.join("set")).concat();
        assert_eq!(told["size"], set.len());
        assert!(set.len() == 2 && set.iter().all(|v| path.contains(v)), "{file}: {set:?}");
        assert!(path.windows(2).all(|edge| !edge.iter().all(|v| set.contains(v))), "{file}: {set:?}");
        assert!(set.is_sorted());

        let told = answer(folder, &["color", file, "--out", "colors"]);
        let colors: HashMap<u64, u64> = numbers(&folder.join("colors")).into_iter().map(|l| (l[0], l[1])).collect();
        assert_eq!(colors.len(), 4);
        assert!(path.windows(2).all(|edge| colors[&edge[0]] != colors[&edge[1]]), "{file}: {colors:?}");
        assert_eq!(told["colors"], colors.values().copied().max().unwrap());

        let source = path[1].to_string();
        let told = answer(folder, &["bfs", file, "--source", &source, "--out", "hops"]);
        let hops: HashMap<u64, u64> = numbers(&folder.join("hops")).into_iter().map(|l| (l[0], l[1])).collect();
        assert_eq!(path.map(|v| hops[&v]), [1, 0, 1, 2], "{file}");
        assert_eq!((&told["reached"], &told["source"], &told["rounds"]), (&value!(4), &value!(path[1]), &value!(null)));
        let told = answer(folder, &["components", file, "--out", "parts"]);
        let least = path.iter().min();
        assert!(numbers(&folder.join("parts")).iter().all(|l| path.contains(&l[0]) && Some(&l[1]) == least));
        assert_eq!(told["components"], 1);
    }
    // an answer replaces an existing file, and no temporary file is left behind
    assert_eq!(fs::read_dir(folder).unwrap().count(), 7);
}

#[test]
fn generated_graphs_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for file in ["g.mtx", "g.mtx.gz"] {
        let out = run(folder, &["generate", "rmat:9:4", "-o", file]);
        assert!(out.status.success(), "{}", text(&out.stderr));
        let digest = |graph| answer(folder, &["mis", graph])["digest"].clone();
        assert_eq!(digest(file), digest("rmat:9:4"));
    }
}
