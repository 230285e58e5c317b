//! Answers over directions and weights: read from files, drawn, refused, written and told.

use crate::harness::{HEADER, answer, numbers, refused, run, text};
use serde_json::{Value, json as value};
use std::fs;
use std::path::Path;

/// A Matrix Market file of a field and a symmetry.
fn matrix(folder: &Path, name: &str, kind: &str, n: usize, entries: &[&str]) {
    let text = format!("%%MatrixMarket matrix coordinate {kind}\n{n} {n} {}\n{}\n", entries.len(), entries.join("\n"));
    fs::write(folder.join(name), text).unwrap();
}

#[test]
fn answers_are_equal_for_threads_and_formats() {
    let folder = tempfile::tempdir().unwrap();
    for graph in ["rmat:11:8", "grid:37x41", "road:40"] {
        for (algorithm, tiles) in [
            (&["bfs", "--parents", "--source", "7"][..], true),
            (&["sssp", "--from", "7", "--weights", "1..100"], false),
            (&["sssp", "--parents", "--from", "7", "--weights", "0..3"], false),
            (&["pagerank"], true),
            (&["pagerank", "--precision", "f32", "--tolerance", "1e-3", "--sources", "3,5"], true),
            (&["kcore"], true),
            (&["triangles"], true),
            (&["clustering"], true),
            (&["clique"], true),
            (&["clique", "--order", "random"], true),
            (&["cover"], true),
            (&["cover", "--priority", "degree"], true),
            (&["labels"], true),
            (&["communities"], true),
            (&["betweenness", "--sources", "5"], true),
            (&["mis", "--distance", "2"], true),
            (&["color", "--distance", "2", "--order", "random"], true),
            (&["ktruss", "--k", "4"], true),
            (&["scc"], true),
            (&["msf", "--weights", "1..100"], false),
            (&["matching"], true),
            (&["matching", "--weights", "1..100"], false),
        ] {
            let mut digests = Vec::new();
            for threads in ["1", "2", "4"] {
                for format in ["auto", "csr", "tiles"].into_iter().filter(|&format| tiles || format != "tiles") {
                    let more = [graph, "--threads", threads, "--format", format];
                    let told = answer(folder.path(), &[algorithm, &more].concat());
                    assert_eq!(told["valid"], true, "{graph} {algorithm:?}");
                    digests.push(told["digest"].to_string());
                }
            }
            assert!(digests.iter().all(|digest| *digest == digests[0]), "{graph} {algorithm:?}: {digests:?}");
        }
    }
    let digest = |more: &[&str]| answer(folder.path(), &[more, &["rmat:11:8"]].concat())["digest"].to_string();
    for algorithm in [&["matching"][..], &["msf", "--weights", "1..9"], &["sssp", "--source", "0", "--weights", "1..9"]]
    {
        assert_ne!(
            digest(algorithm),
            digest(&[algorithm, &["--seed", "1"]].concat()),
            "{algorithm:?}: the seed matters"
        );
    }
}

#[test]
fn weights_and_directions_of_files_count() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // 1 -> 2 -> 3 is shorter than 1 -> 3; nothing leads to 4
    let entries = ["1 3 9", "1 2 4", "2 3 3", "4 1 1"];
    matrix(folder, "whole.mtx", "integer general", 4, &entries);
    matrix(folder, "real.mtx", "real general", 4, &["1 3 0.9", "1 2 0.25", "2 3 0.5", "4 1 1"]);
    let told = answer(folder, &["sssp", "whole.mtx", "--source", "1", "--out", "d"]);
    assert_eq!((&told["reached"], &told["farthest"], &told["directed"]), (&value!(3), &value!(7), &value!(true)));
    assert_eq!((&told["edges"], &told["weights"], &told["valid"]), (&value!(4), &Value::Null, &value!(true)));
    assert_eq!(numbers(&folder.join("d")), [[1, 0], [2, 4], [3, 7]]);
    let told = answer(folder, &["sssp", "whole.mtx", "--source", "1", "--parents", "--out", "d"]);
    assert_eq!((&told["reached"], &told["farthest"], &told["valid"]), (&value!(3), &Value::Null, &value!(true)));
    assert_eq!(numbers(&folder.join("d")), [[1, 1], [2, 1], [3, 2]]);
    let told = answer(folder, &["sssp", "real.mtx", "--source", "1", "--parents", "--out", "d"]);
    assert_eq!(told["valid"], true);
    assert_eq!(numbers(&folder.join("d")), [[1, 1], [2, 1], [3, 2]]);
    let told = answer(folder, &["sssp", "real.mtx", "--source", "1", "--out", "d"]);
    assert_eq!((&told["farthest"], &told["valid"]), (&value!(0.75), &value!(true)));
    assert_eq!(fs::read_to_string(folder.join("d")).unwrap(), "1 0\n2 0.25\n3 0.75\n");
    // drawn weights take the place of the file's
    let told = answer(folder, &["sssp", "whole.mtx", "--source", "1", "--weights", "5..5"]);
    assert_eq!((&told["farthest"], &told["weights"]), (&value!(5), &value!("5..5")));

    // 1 -> 2 -> 3 -> 1, and 3 -> 4
    matrix(folder, "ring.mtx", "pattern general", 4, &["1 2", "2 3", "3 1", "3 4"]);
    fs::write(folder.join("ring.txt"), "10 20\n20 30\n30 10\n30 40\n").unwrap();
    for (file, names) in [("ring.mtx", [1, 2, 3, 4]), ("ring.txt", [10, 20, 30, 40])] {
        let told = answer(folder, &["scc", file, "--out", "parts"]);
        assert_eq!((&told["components"], &told["directed"], &told["edges"]), (&value!(2), &value!(true), &value!(4)));
        let [a, b, c, d] = names;
        assert_eq!(numbers(&folder.join("parts")), [[a, a], [b, a], [c, a], [d, d]]);
        let told =
            answer(folder, &["pagerank", file, "--sources", &d.to_string(), "--damping", "0.5", "--rounds", "9"]);
        assert_eq!((&told["top"], &told["rounds"], &told["greatest"]), (&value!(d), &value!(9), &value!(1.0)));
        // directions don't matter here
        let told = answer(folder, &["kcore", file, "--out", "cores"]);
        assert_eq!((&told["degeneracy"], &told["directed"]), (&value!(2), &Value::Null));
        assert_eq!(numbers(&folder.join("cores")), [[a, 2], [b, 2], [c, 2], [d, 1]]);
        let told = answer(folder, &["triangles", file, "--out", "corners"]);
        assert_eq!((&told["triangles"], &told["top"], &told["greatest"]), (&value!(1), &value!(a), &value!(1)));
        assert_eq!(numbers(&folder.join("corners")), [[a, 1], [b, 1], [c, 1], [d, 0]]);
        // all paths from and to d lead through c
        let told = answer(folder, &["betweenness", file, "--out", "between"]);
        assert_eq!((&told["between"], &told["top"], &told["greatest"]), (&value!(1), &value!(c), &value!(2.0)));
        assert_eq!(numbers(&folder.join("between")), [[a, 0], [b, 0], [c, 2], [d, 0]]);
        // one community is as good as any
        let told = answer(folder, &["communities", file, "--out", "parts"]);
        let parts = numbers(&folder.join("parts"));
        assert!((told["modularity"].as_f64().unwrap()) >= 0.0 && parts[0] == [a, a], "{told}");
        assert_eq!((&told["tolerance"], &told["valid"]), (&value!(1e-6), &value!(true)));
        // the label of most neighbours, in the first round the least one
        let told = answer(folder, &["labels", file, "--rounds", "1", "--out", "labels"]);
        assert_eq!((&told["communities"], &told["largest"], &told["rounds"]), (&value!(3), &value!(2), &value!(1)));
        assert_eq!(numbers(&folder.join("labels")), [[a, b], [b, a], [c, a], [d, c]]);
        let told = answer(folder, &["ktruss", file, "--k", "3", "--out", "truss"]);
        assert_eq!((&told["size"], &told["k"], &told["rounds"]), (&value!(3), &value!(3), &value!(2)));
        assert_eq!(numbers(&folder.join("truss")), [[a, b], [a, c], [b, c]]);
        let told = answer(folder, &["clustering", file, "--out", "shares"]);
        assert_eq!((&told["clustered"], &told["valid"]), (&value!(3), &value!(true)));
        assert!((told["mean"].as_f64().unwrap() - 7.0 / 12.0).abs() < 1e-12);
        let written = fs::read_to_string(folder.join("shares")).unwrap();
        assert_eq!(written, format!("{a} 1\n{b} 1\n{c} 0.3333333333333333\n{d} 0\n"));
        let told = answer(folder, &["bfs", file, "--source", &d.to_string(), "--parents", "--out", "tree"]);
        assert_eq!(told["reached"], 4);
        assert_eq!(numbers(&folder.join("tree")), [[a, c], [b, c], [c, d], [d, d]]);
    }
}

#[test]
fn forests_and_matchings_are_written_by_edges_and_mates() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // a path 1 - 2 - 3 - 4 and the edge 1 - 3; real weights may be negative in a forest
    matrix(folder, "whole.mtx", "integer symmetric", 5, &["2 1 3", "3 2 4", "4 3 3", "3 1 9", "5 5 1"]);
    matrix(folder, "real.mtx", "real symmetric", 5, &["2 1 -0.5", "3 2 0.25", "4 3 1e300", "3 1 0.5"]);
    // the same edges in one direction each, or in both
    matrix(folder, "once.mtx", "integer general", 5, &["2 1 3", "2 3 4", "4 3 3", "3 4 3", "1 3 9", "5 5 1"]);
    let output = run(folder, &["msf", "once.mtx"]);
    let noted = "vxm: once: made symmetric: 3 edges were listed in one direction only\n";
    assert!(text(&output.stderr).contains(noted), "{}", text(&output.stderr));
    for (file, weight) in [("whole.mtx", value!(10.0)), ("once.mtx", value!(10.0)), ("real.mtx", value!(1e300))] {
        let told = answer(folder, &["msf", file, "--out", "forest"]);
        assert_eq!((&told["size"], &told["weight"], &told["valid"]), (&value!(3), &weight, &value!(true)));
        assert_eq!(numbers(&folder.join("forest")), [[1, 2], [2, 3], [3, 4]]);
    }
    matrix(folder, "lengths.mtx", "real symmetric", 5, &["2 1 0.5", "3 2 0.75", "4 3 0.5", "3 1 0.0625"]);
    for (file, weight) in [("whole.mtx", 9.0), ("once.mtx", 9.0), ("lengths.mtx", 0.75)] {
        let told = answer(folder, &["matching", file, "--weighted", "--out", "mates"]);
        assert_eq!((&told["weight"], &told["valid"]), (&value!(weight), &value!(true)), "{file}");
        let mates = numbers(&folder.join("mates"));
        assert_eq!(mates, if file == "lengths.mtx" { [[2, 3], [3, 2]] } else { [[1, 3], [3, 1]] }, "{file}");
    }
    let told = answer(folder, &["matching", "whole.mtx"]);
    assert_eq!((&told["weight"], &told["seed"]), (&Value::Null, &value!(0)));
    assert!((1..=2).contains(&told["size"].as_u64().unwrap()));
}

#[test]
fn roots_of_forests_are_written_and_others_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // 3 -> 2 -> 1, 5 -> 4, 6 with a loop, and 7 alone
    matrix(folder, "forest.mtx", "pattern general", 7, &["2 1", "3 2", "5 4", "6 6"]);
    fs::write(folder.join("forest.txt"), "20 10\n30 20\n50 40\n").unwrap();
    for threads in ["1", "2"] {
        for format in ["csr", "tiles"] {
            let more = ["--threads", threads, "--format", format, "--out", "roots"];
            let told = answer(folder, &[&["roots", "forest.mtx"], &more[..]].concat());
            assert_eq!((&told["trees"], &told["largest"], &told["rounds"]), (&value!(4), &value!(3), &value!(2)));
            assert_eq!((&told["valid"], &told["algorithm"]), (&value!(true), &value!("roots")));
            let expected = [[1, 1], [2, 1], [3, 1], [4, 4], [5, 4], [6, 6], [7, 7]];
            assert_eq!(numbers(&folder.join("roots")), expected);
        }
    }
    let told = answer(folder, &["roots", "forest.txt", "--out", "roots"]);
    assert_eq!((&told["trees"], &told["edges"]), (&value!(2), &value!(3)));
    assert_eq!(numbers(&folder.join("roots")), [[10, 10], [20, 10], [30, 10], [40, 40], [50, 40]]);

    matrix(folder, "split.mtx", "pattern general", 4, &["1 2", "3 1", "3 2", "4 1", "4 2", "4 3"]);
    // cycles of two and of three vertices, each with a tail
    fs::write(folder.join("two.txt"), "5 60\n60 40\n40 60\n").unwrap();
    fs::write(folder.join("three.txt"), "5 60\n60 40\n40 70\n70 60\n").unwrap();
    let expected = "expected a forest, at most one edge from each vertex, to its parent";
    for (file, told) in [
        ("split.mtx", format!("split: vertex 3 has 2 out-edges: {expected}")),
        ("two.txt", format!("two: vertex 40 lies on a cycle: {expected}")),
        ("three.txt", format!("three: vertex 40 lies on a cycle: {expected}")),
        ("grid:1x2", format!("grid:1x2: vertex 0 lies on a cycle: {expected}")),
        ("grid:2x2", format!("grid:2x2: vertex 0 has 2 out-edges: {expected}")),
    ] {
        assert_eq!(refused(folder, &["roots", file]).trim_end(), told);
    }
}

#[test]
fn people_are_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, told) in [
        (&["bfs", "grid:4x4", "--from", "5", "--parents"][..], "a tree of 16 vertices (100.00 %), valid\nsource 5: "),
        (
            &["sssp", "grid:4x4", "--from", "0", "--weights", "2..2"],
            "16 vertices (100.00 %) within distance 12, valid\n",
        ),
        (&["sssp", "grid:4x4", "--from", "0", "--weights", "2..2"], "source 0, weights 2..2, seed 0: "),
        (
            &["sssp", "grid:4x4", "--from", "0", "--weights", "2..2", "--parents"],
            "a tree of 16 vertices (100.00 %), valid\n",
        ),
        (&["pagerank", "grid:1x2"], "greatest rank 0.500000000 at 0, valid\nprecision f64, damping 0.85, tolerance 0"),
        (&["pagerank", "grid:0x0"], "no ranks, valid\n"),
        (&["kcore", "grid:4x4"], "degeneracy 2, valid\n0."),
        (&["triangles", "grid:4x4"], "0 triangles, valid\n0."),
        (&["triangles", "grid:0x0"], "0 triangles, valid\n0."),
        (&["ktruss", "grid:4x4", "--k", "3"], "3-truss of 0 edges, valid\nk 3: "),
        (&["betweenness", "grid:1x4"], "greatest betweenness 2.000 at 1, valid\n0."),
        (&["betweenness", "grid:0x0"], "no betweenness, valid\n0."),
        (&["betweenness", "grid:4x4", "--sources", "3"], ", valid\nsources 3, seed 0: 0."),
        (
            &["mis", "grid:1x4", "--distance", "2"],
            "independent set at distance 2 of 2 vertices (50.00 %), valid\npriority sorted, distance 2, seed 0: ",
        ),
        (
            &["color", "grid:1x4", "--distance", "2"],
            "3 colours at distance 2, valid\norder largest-degree-first, distance",
        ),
        (&["communities", "grid:1x2"], "1 community of modularity 0.000000, valid\ntolerance "),
        (&["communities", "grid:1x1"], "1 community of modularity 0.000000, valid\ntolerance "),
        (&["communities", "grid:0x0"], "0 communities of modularity 0.000000, valid\ntolerance "),
        (&["labels", "grid:1x3"], "2 communities, the largest of 2 vertices, valid\n20 rounds, "),
        (&["labels", "grid:1x1"], "1 community, the largest of 1 vertex, valid\n1 round, "),
        (&["labels", "grid:0x0"], "0 communities, the largest of 0 vertices, valid\n0 rounds, "),
        (&["clustering", "grid:4x4"], "mean clustering coefficient 0.000000000, valid\n0."),
        (&["msf", "grid:4x4", "--weights", "1..1"], "forest of 15 edges of weight 15, valid\n"),
        (&["scc", "grid:4x4"], "grid:4x4: 16 vertices, 24 edges\n1 strongly connected component, valid\n"),
        (&["roots", "grid:1x1"], "1 tree, the largest of 1 vertex, valid\n1 round, "),
        (&["roots", "grid:0x0"], "0 trees, the largest of 0 vertices, valid\n"),
        (&["matching", "grid:1x2"], "matching of 1 edge, valid\nseed 0: 1 round, "),
        (
            &["matching", "grid:1x2", "--weights", "7..7"],
            "matching of 1 edge of weight 7, valid\nweights 7..7, seed 0: ",
        ),
        (&["matching", "grid:1x1"], "matching of 0 edges, valid\n"),
        (&["kcore", "grid:0x0"], "degeneracy 0, valid\n"),
        (&["clique", "grid:4x4"], "clique of 2 vertices, valid\norder smallest-degree-last, seed 0: 0."),
        (&["clique", "grid:0x0"], "clique of 0 vertices, valid\n"),
        (&["clique", "er:3:0"], "clique of 1 vertex, valid\n"),
        (&["cover", "grid:1x4"], "vertex cover of 2 vertices (50.00 %); none has fewer than "),
        (&["cover", "grid:0x0"], "vertex cover of 0 vertices (0.00 %); none has fewer than 0, valid\n"),
        (&["scc", "grid:0x0"], "0 strongly connected components, valid\n"),
    ] {
        let out = run(folder.path(), &[arguments, &["--device", "cpu"]].concat());
        assert!(out.status.success() && text(&out.stdout).contains(told), "{told}: {}", text(&out.stdout));
        assert!(out.stderr.is_empty(), "{}", text(&out.stderr));
    }
}

#[test]
fn weights_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    matrix(folder, "minus.mtx", "integer general", 3, &["1 2 4", "2 3 -1"]);
    matrix(folder, "negative.mtx", "real general", 3, &["1 2 4", "2 3 -0.5"]);
    matrix(folder, "nan.mtx", "real symmetric", 3, &["2 1 4", "3 2 nan"]);
    matrix(folder, "long.mtx", "integer general", 3, &["1 2 4294967290", "2 3 10"]);
    matrix(folder, "wide.mtx", "integer general", 3, &["1 2 4294967296"]);
    matrix(folder, "two.mtx", "integer general", 3, &["1 2 4", "2 1 5", "2 3 5", "3 2 6"]);
    matrix(folder, "uneven.mtx", "integer general", 2, &["1 2 4", "2 1 5"]);
    matrix(folder, "below.mtx", "real symmetric", 2, &["2 1 -1"]);
    matrix(folder, "twice.mtx", "integer general", 3, &["1 2 4", "2 3 1", "1 2 5"]);
    fs::write(folder.join("plain.mtx"), format!("{HEADER}3 3 2\n2 1\n3 2\n")).unwrap();
    let no_weights = "no weights: expected a matrix-market, gr, metis, graphml, parquet, arrow, npz, egr, sg or vxm file with weights, an edge list with --edge-columns FROM,TO,WEIGHT, or --weights LEAST..GREATEST";
    let uneven = "the edges 1 -> 2 and 2 -> 1 differ: expected the same weight, or one direction alone";
    for (arguments, told) in [
        (
            &["sssp", "minus.mtx", "--source", "1"][..],
            "minus.mtx:4:5: expected a value of type u32, found `-1`".to_owned(),
        ),
        (
            &["sssp", "negative.mtx", "--source", "1"],
            "negative: the edge 2 -> 3 has weight -0.5: expected a finite number from 0 on".into(),
        ),
        (&["sssp", "nan.mtx", "--source", "1"], "nan: the edge 2 -> 3 has weight NaN: expected a number".into()),
        (&["msf", "nan.mtx"], "nan: the edge 2 -> 3 has weight NaN: expected a number".into()),
        (&["sssp", "long.mtx", "--source", "1"], "long: the distance of vertex 3 doesn't fit 32 bits".into()),
        (
            &["sssp", "wide.mtx", "--source", "1"],
            "wide.mtx:3:5: expected a value of type u32, found `4294967296`".into(),
        ),
        (
            &["sssp", "grid:1x3", "--source", "0", "--weights", "4294967290..4294967290"],
            "grid:1x3: the distance of vertex 2 doesn't fit 32 bits".into(),
        ),
        (
            &["sssp", "long.mtx", "--source", "1", "--parents"],
            "long: the distance of vertex 3 doesn't fit 32 bits".into(),
        ),
        (
            &["sssp", "negative.mtx", "--source", "1", "--parents"],
            "negative: the edge 2 -> 3 has weight -0.5: expected a finite number from 0 on".into(),
        ),
        (&["sssp", "plain.mtx", "--source", "1"], format!("plain: {no_weights}")),
        (&["sssp", "grid:2x2", "--source", "1"], format!("grid:2x2: {no_weights}")),
        (&["msf", "grid:2x2"], format!("grid:2x2: {no_weights}")),
        (&["matching", "grid:2x2", "--weighted"], format!("grid:2x2: {no_weights}")),
        (&["msf", "two.mtx"], format!("two: {uneven}")),
        (&["matching", "uneven.mtx", "--weighted"], format!("uneven: {uneven}")),
        (
            &["matching", "below.mtx", "--weighted"],
            "below: the edge 1 -> 2 has weight -1: expected a finite number from 0 on".into(),
        ),
        (&["sssp", "twice.mtx", "--source", "1"], "twice.mtx: entry 3 repeats row 1, column 2 of entry 1".into()),
    ] {
        let line = refused(folder, arguments);
        assert!(line.starts_with(&told), "{arguments:?}: {line}");
    }
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    matrix(folder, "one-way.mtx", "integer general", 3, &["1 2 4", "2 1 4", "2 3 5"]);
    let no_range = "expected LEAST..GREATEST, two numbers from 0 to 4294967295, the lesser first";
    for (arguments, told) in [
        (
            &["sssp", "one-way.mtx", "--source", "4"][..],
            "one-way: --source 4: expected the number of one of its 3 vertices".to_owned(),
        ),
        (&["sssp", "grid:2x2"], "the following required arguments were not provided: --source <V>".into()),
        (
            &["msf", "grid:2x2", "--weights", "5"],
            format!("invalid value '5' for '--weights <LEAST..GREATEST>': {no_range}"),
        ),
        (
            &["msf", "grid:2x2", "--weights", "5..4"],
            format!("invalid value '5..4' for '--weights <LEAST..GREATEST>': {no_range}"),
        ),
        (
            &["msf", "grid:2x2", "--weights", "1..2", "--format", "tiles"],
            "--format tiles: expected a graph without weights".into(),
        ),
        (
            &["matching", "grid:2x2", "--weights", "1..2", "--weighted"],
            "the argument '--weights <LEAST..GREATEST>' cannot be used with '--weighted'".into(),
        ),
        (
            &["pagerank", "grid:2x2", "--damping", "1"],
            "pagerank: damping 1: expected a number from 0 to 1, 1 excluded".into(),
        ),
        (
            &["pagerank", "grid:2x2", "--damping", "-0.5"],
            "pagerank: damping -0.5: expected a number from 0 to 1".into(),
        ),
        (
            &["pagerank", "grid:2x2", "--tolerance", "nan"],
            "pagerank: tolerance NaN: expected a number from 0 on".into(),
        ),
        (
            &["pagerank", "grid:2x2", "--sources", "1,9"],
            "grid:2x2: --sources 9: expected the number of one of its 4 vertices".into(),
        ),
        (&["pagerank", "grid:2x2", "--precision", "f16"], "unknown precision `f16`: expected f32, f64".into()),
        (
            &["ktruss", "grid:2x2", "--k", "2"],
            "invalid value '2' for '--k <K>': expected a number from 3 to 4294967295".into(),
        ),
        (&["kcore", "grid:2x2", "--seed", "1"], "unexpected argument '--seed' found".into()),
    ] {
        let line = refused(folder, arguments);
        assert!(line.starts_with(&told), "{arguments:?}: {line}");
    }
    // a distance that is right at the edge of the type
    let told = answer(folder, &["sssp", "grid:1x2", "--source", "0", "--weights", "4294967294..4294967294"]);
    assert_eq!(told["farthest"], 4_294_967_294u32);
}

#[test]
fn cleaning_is_said_of_directed_graphs() {
    let folder = tempfile::tempdir().unwrap();
    matrix(folder.path(), "d.mtx", "pattern general", 4, &["1 1", "2 1", "2 1", "1 2", "2 3"]);
    let out = run(folder.path(), &["scc", "d.mtx", "--device", "cpu"]);
    assert_eq!(text(&out.stderr), "vxm: d: dropped 1 self-loop; dropped 1 duplicate\n");
    assert!(text(&out.stdout).starts_with("d: 4 vertices, 3 directed edges\n3 strongly connected components, valid\n"));
}
