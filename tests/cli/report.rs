//! `vxm report`: the numbers of its pages, read as plain text.

use crate::harness::{answer, json, refused, run, text};
use serde_json::{Value, json as value};
use std::fs;
use std::path::Path;

/// Writes a page with these arguments, and returns it.
fn page(folder: &Path, arguments: &[&str]) -> String {
    let out = run(folder, &[&["report", "-o", "r.html"], arguments].concat());
    assert!(out.status.success(), "{arguments:?}: {}", text(&out.stderr));
    let page = fs::read_to_string(folder.join("r.html")).unwrap();
    assert!(text(&out.stderr).ends_with(&format!("vxm: r.html: {} bytes\n", page.len())), "{}", text(&out.stderr));
    page
}

/// The number that a page gives under this name.
fn number(page: &str, name: &str) -> f64 {
    let begin = format!("<data id=\"{name}\" value=\"");
    let (_, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no {name}: {page}"));
    rest.split_once('"').unwrap().0.parse().unwrap()
}

/// The text of the element with this name, which contains no other.
fn element<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!(" id=\"{name}\"")).unwrap_or_else(|| panic!("no {name}"));
    rest.split_once('>').unwrap().1.split_once("</").unwrap().0
}

/// The JSON object inside a page.
fn inside(page: &str) -> Value {
    serde_json::from_str(element(page, "run")).unwrap()
}

#[test]
fn pages_tell_what_json_tells() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let told = answer(folder, &["mis", "grid:30x40", "--priority", "sorted", "--seed", "7"]);
    let page = page(
        folder,
        &["grid:30x40", "--algorithm", "mis", "--device", "cpu", "--", "--priority", "sorted", "--seed", "7"],
    );
    for (name, expected) in [
        ("vertices", 1200.0),
        ("edges", 2330.0),
        ("least", 2.0),
        ("median", 4.0),
        ("greatest", 4.0),
        ("isolated", 0.0),
        ("components", 1.0),
        ("largest", 1200.0),
    ] {
        assert_eq!(number(&page, name), expected, "{name}");
    }
    assert!((number(&page, "mean") - 4660.0 / 1200.0).abs() < 1e-9);
    let info = json(folder, &["info", "grid:30x40"]);
    assert_eq!(Some(number(&page, "tiles") as u64), info["tiles"].as_u64());
    assert!((number(&page, "fill") - info["tile_fill"].as_f64().unwrap()).abs() < 1e-9);
    assert_eq!((element(&page, "digest"), element(&page, "valid")), (told["digest"].as_str().unwrap(), "valid"));
    let own = inside(&page);
    for name in ["graph", "vertices", "edges", "algorithm", "size", "digest", "priority", "seed", "valid"] {
        assert_eq!(own[name], told[name], "{name}");
    }
    let again = element(&page, "again");
    assert_eq!(again, "vxm mis grid:30x40 --device cpu --priority sorted --seed 7");
    let rerun = json(folder, &again.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(rerun["digest"], told["digest"]);
    // what was predicted covers what was taken only of graphs that are larger than the program
    assert!(number(&page, "predicted") > 0.0 && number(&page, "taken") > 0.0 && number(&page, "total") > 0.0);
    assert!(page.contains("id=\"plan\""), "the plan is told");
    for picture in ["degrees", "spy", "sample", "fills"] {
        assert!(page.contains(&format!("<figure id=\"{picture}\">")), "{picture}");
    }
}

#[test]
fn pages_need_no_network_and_no_script() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), &["road:40", "--device", "cpu"]);
    assert_eq!(inside(&page)["algorithm"], "components");
    assert!(number(&page, "components") > 1.0 && page.contains("<figure id=\"sizes\">"));
    // the one script is data
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("<link") && !page.contains("@import") && !page.contains("url("));
    let sources = page.split(" src=\"").skip(1);
    assert!(sources.clone().count() == 2 && sources.clone().all(|source| source.starts_with("data:image/png;base64,")));
    // addresses name the namespace of SVG only
    let addresses = page.split("http").skip(1);
    assert!(addresses.clone().all(|address| address.starts_with("://www.w3.org/2000/svg")), "{page}");
    let opened = ["<div", "<table", "<figure", "<tr", "<td", "<svg", "<p", "<html"].map(|tag| {
        let open = page.matches(&format!("{tag}>")).count() + page.matches(&format!("{tag} ")).count();
        (tag, open as i64 - page.matches(&format!("{}>", tag.replace('<', "</"))).count() as i64)
    });
    assert!(opened.iter().all(|(_, left)| *left == 0), "{opened:?}");
}

#[test]
fn loops_are_counted_round_by_round() {
    let folder = tempfile::tempdir().unwrap();
    // a search from a corner visits a diagonal of the grid in each round
    let page = page(folder.path(), &["grid:9x9", "--algorithm", "bfs", "--device", "cpu", "--", "--source", "0"]);
    let counted = page.split("data-loops=\"").nth(1).unwrap().split_once('"').unwrap().0.parse::<usize>().unwrap();
    assert_eq!(page.matches("<figure class=\"loop\">").count(), counted.min(4));
}

#[test]
fn every_algorithm_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    for (algorithm, options) in [
        ("color", &["--method", "jp"][..]),
        ("sssp", &["--source", "0", "--weights", "1..9"]),
        ("pagerank", &[]),
        ("kcore", &[]),
        ("triangles", &[]),
        ("ktruss", &["--k", "3"]),
        ("clustering", &[]),
        ("clique", &[]),
        ("cover", &["--priority", "sorted"]),
        ("msf", &["--weights", "1..9"]),
        ("scc", &[]),
        ("matching", &[]),
    ] {
        let arguments = [&["rmat:7:4", "--algorithm", algorithm, "--device", "cpu", "--"], options].concat();
        let page = page(folder.path(), &arguments);
        let told = answer(folder.path(), &[&[algorithm, "rmat:7:4"], options].concat());
        assert_eq!((&inside(&page)["digest"], element(&page, "valid")), (&told["digest"], "valid"), "{algorithm}");
    }
    // graphs without vertices, and with one
    for (spec, vertices) in [("grid:0x0", 0.0), ("grid:1x1", 1.0)] {
        assert_eq!(number(&page(folder.path(), &[spec, "--device", "cpu"]), "vertices"), vertices);
    }
}

#[test]
fn two_runs_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, seed) in [("a.json", "1"), ("b.json", "1"), ("c.json", "2")] {
        let out =
            run(folder, &["mis", "grid:30x40", "--device", "cpu", "--priority", "random", "--seed", seed, "--json"]);
        fs::write(folder.join(name), out.stdout).unwrap();
    }
    let equal = page(folder, &["--compare", "a.json", "b.json"]);
    assert!(equal.contains("The answers are equal"), "{equal}");
    let own = inside(&equal);
    let a: Value = serde_json::from_str(&fs::read_to_string(folder.join("a.json")).unwrap()).unwrap();
    assert_eq!((&own["a"], &own["b"]["seed"]), (&a, &value!(1)));
    assert!(page(folder, &["--compare", "a.json", "c.json"]).contains("The answers differ"));
    // a page is as good as its object
    page(folder, &["grid:30x40", "--algorithm", "mis", "--device", "cpu", "--", "--priority", "random", "--seed", "1"]);
    fs::rename(folder.join("r.html"), folder.join("first.html")).unwrap();
    assert!(page(folder, &["--compare", "first.html", "a.json"]).contains("The answers are equal"));
}

#[test]
fn reports_refuse_what_they_cannot_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("text"), "{\"graph\": 1").unwrap();
    fs::write(folder.join("other.json"), "{}").unwrap();
    for (arguments, expected) in [
        (
            &["report", "grid:3x4", "-o", "r.html", "--algorithm", "info"][..],
            "unknown algorithm `info`: expected mis, color",
        ),
        (&["report", "grid:3x4", "-o", "r.html", "--", "--method", "jp"], "unexpected argument '--method'"),
        (&["report", "-o", "r.html"], "GRAPH"),
        (&["report", "grid:3x4"], "--out"),
        (&["report", "nothere.mtx", "-o", "r.html"], "nothere.mtx: No such file"),
        (&["report", "grid:3x4", "-o", "no/r.html"], "--out no/r.html: "),
        (&["report", "--compare", "text", "text", "-o", "r.html"], "text:1:11: expected the JSON object"),
        (&["report", "--compare", "other.json", "text", "-o", "r.html"], "other.json: expected the JSON object"),
        (&["report", "--compare", "gone.json", "text", "-o", "r.html"], "gone.json: No such file"),
    ] {
        let told = refused(folder, arguments);
        assert!(told.contains(expected), "{arguments:?}: {told}");
        assert!(!folder.join("r.html").exists(), "{arguments:?}");
    }
}

#[test]
fn names_with_markup_stay_names() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let name = "<b>&.mtx";
    fs::write(folder.join(name), "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n").unwrap();
    let page = page(folder, &[name, "--device", "cpu"]);
    assert!(page.contains("&lt;b&gt;&amp;") && !page.contains("<b>&."), "{page}");
    assert_eq!(element(&page, "again"), "vxm components '&lt;b&gt;&amp;.mtx' --device cpu");
}
