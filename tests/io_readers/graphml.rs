//! GraphML.

use crate::writers::put;
use vxm::io::{FileFormat, Loaded, Weighted, read, read_as, read_digraph, read_matrix, read_weighted};

/// A file as networkx writes it, with integers, a default and other data.
const PEOPLE: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<!-- who knows whom -->
<key id="d0" for="node" attr.name="weight" attr.type="double"/>
<key id="d1" for="edge" attr.name="weight" attr.type="long"><default>4</default></key>
<key id="d2" for="edge" attr.name="since" attr.type="string"/>
<graph edgedefault="undirected">
  <node id="Bob"><data key="d0">1.5</data></node>
  <node id="Ann &amp; Co"/>
  <node id="Zo&#233;"/>
  <node id="alone"/>
  <edge source="Ann &amp; Co" target="Bob"><data key="d1"> 7 </data><data key="d2">2001 &lt; 2002</data></edge>
  <edge source="Zo&#233;" target="Bob" id="e1"/>
  <edge source="Bob" target="Bob"><data key="d1"><![CDATA[9]]></data></edge>
</graph>
</graphml>
"#;

fn labels(loaded: &Loaded) -> Vec<String> {
    (0..loaded.graph.nrows() as u32).map(|v| loaded.numbering.label(v).to_string()).collect()
}

#[test]
fn nodes_edges_and_weights_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = put(folder, "people.xml", PEOPLE);
    let loaded = read(&path, &()).unwrap();
    assert_eq!((loaded.format, loaded.name.as_str()), (Some(FileFormat::GraphMl), "people.xml"));
    assert_eq!(labels(&loaded), ["Ann & Co", "Bob", "Zoé", "alone"]);
    assert_eq!(loaded.graph.columns(), [1, 0, 2, 1]);
    let report = loaded.report;
    assert_eq!((report.entries, report.loops, report.weights, report.one_way), (3, 1, 3, None));
    // no edge has a direction
    assert_eq!(read_digraph(&path, &()).unwrap().graph, loaded.graph);
    let Weighted::Integer(weighted) = read_weighted(&path, &()).unwrap() else { panic!("no integers") };
    assert_eq!(weighted.graph.values(), [7, 7, 4, 4]);
    assert!(read_matrix::<f32>(&path, &()).unwrap_err().to_string().contains("expected a matrix: "));
    // compressed
    let zipped = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    };
    let again = read(put(folder, "people.graphml.gz", zipped(PEOPLE.as_bytes())), &()).unwrap();
    assert_eq!((&again.graph, &again.numbering, again.name.as_str()), (&loaded.graph, &loaded.numbering, "people"));
}

#[test]
fn edges_may_have_directions() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"<graphml><key id="w" for="edge" attr.name="weight" attr.type="double"/>
        <graph id="G" edgedefault="directed"><node id="n1"><graph edgedefault="undirected"><node id="n1::n0"/></graph></node>
        <edge source="n1" target="n2"><data key="w">0.5</data></edge><node id="n2"/>
        <edge source="n2" target="n1::n0" directed="false"><data key="w">2e3</data></edge></graph></graphml>"#;
    let path = put(folder.path(), "g.graphml", text);
    let Weighted::Real(arrows) = read_weighted(&path, &()).unwrap() else { panic!("no real numbers") };
    let entries: Vec<_> = (0..3).map(|row| arrows.graph.row(row)).collect();
    // n1, n1::n0, n2
    assert_eq!(entries, [(&[2][..], &[0.5][..]), (&[2], &[2000.0]), (&[1], &[2000.0])]);
    let graph = read(&path, &()).unwrap();
    assert_eq!((graph.graph.nnz(), graph.report.one_way, graph.report.entries), (4, Some(1), 2));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let told = |text: &str| {
        let path = put(folder.path(), "f", format!("<graphml>\n{text}</graphml>"));
        let error = read_as(&path, FileFormat::GraphMl, &()).unwrap_err().to_string();
        error.replace(&format!("{}/", folder.path().display()), "")
    };
    let graph = |text: &str| told(&format!("<graph edgedefault=\"directed\">\n{text}</graph>"));
    for (found, expected) in [
        (told(""), "f:2:11: expected a <graph>, found the end of the file"),
        (told("<graph>"), "f:2:1: expected a graph with edgedefault="),
        (told("<graph edgedefault=\"both\"/>"), "f:2:1: expected a graph with edgedefault="),
        (graph("</graph><graph edgedefault=\"directed\">"), "f:3:9: expected one graph, found `<graph`"),
        (
            graph("<node id=\"a&#9;b\"/>"),
            "f:3:1: expected an id of a node that isn't empty and has no control characters",
        ),
        (graph("<node id=\"\"/>"), "f:3:1: expected an id of a node that isn't empty"),
        (graph("<node/>"), "f:3:1: expected a node with an id, found `<node/>"),
        (graph("<node id=\"a\"/>\n<node id=\"a\"/>"), "f:4:1: expected nodes with different ids, not another `a`"),
        (graph("<edge source=\"a\"/>"), "f:3:1: expected an edge with a target"),
        (
            graph("\n<edge source=\"a\" target=\"b\"/><node id=\"a\"/>"),
            "f:4:1: expected edges between nodes of the graph, which has no node `b`",
        ),
        (graph("<node id=\"a\"/><hyperedge/>"), "f:3:15: expected edges between two nodes"),
        (graph("<node id=\"a&bad;\"/>"), "f:3:1: expected a sound value of the attribute `id`"),
        (graph("<node id=\"a\""), "f:"),
        (graph("</nodes>"), "f:3:1: expected sound XML ("),
        (
            graph("</no\n<de>"),
            "f:3:1: expected sound XML (ill-formed document: expected `</graph>`, but `</no\\n<de>` was",
        ),
        (
            told("<key id=\"w\" attr.name=\"weight\" attr.type=\"string\"/>"),
            "f:2:1: expected weights of the type int, long, float or double",
        ),
    ] {
        assert!(found.starts_with(expected), "{found}, expected {expected}");
    }
    let weighted = |weight: &str| {
        let text = format!(
            "<graphml><key id=\"w\" for=\"edge\" attr.name=\"weight\" attr.type=\"int\"/><graph edgedefault=\"directed\"><node id=\"a\"/>\
             <node id=\"b\"/><edge source=\"a\" target=\"b\">{weight}</edge></graph></graphml>"
        );
        read_weighted(put(folder.path(), "f", text), &()).unwrap_err().to_string()
    };
    assert!(weighted("<data key=\"w\">-1</data>").contains("an integer from 0 to 4294967295, before this, not `-1`"));
    assert!(weighted("<data key=\"w\">1&amp;</data>").contains("expected a number"));
    assert!(
        weighted("").ends_with("f: edge 1: expected a weight by a key before the graph, found none"),
        "{}",
        weighted("")
    );
    let bytes = [&b"<graphml>"[..], &[0xff]].concat();
    let error = read(put(folder.path(), "f", bytes), &()).unwrap_err().to_string();
    assert!(error.contains("f:1:10: expected UTF-8"), "{error}");
    // parallel edges, and keys of two types, as networkx writes them; elements of other namespaces
    let several = weighted("<data key=\"w\">1</data></edge><edge source=\"a\" target=\"b\"><data key=\"w\">2</data>");
    assert!(several.ends_with("f: expected one edge from `a` to `b`, found weights of several"), "{several}");
    let text = "<g:graphml xmlns:g=\"u\" xmlns:y=\"v\"><g:key id=\"i\" for=\"edge\" attr.name=\"weight\" attr.type=\"int\"/>\
        <g:key id=\"r\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"/><g:graph edgedefault=\"undirected\">\
        <g:node id=\"a\"><y:node id=\"a\"/></g:node><g:node id=\"b\"/><g:node id=\"c\"/>\
        <g:edge source=\"a\" target=\"b\"><g:data key=\"i\">1</g:data></g:edge>\
        <g:edge source=\"b\" target=\"c\"><g:data key=\"r\">2.5</g:data></g:edge></g:graph></g:graphml>";
    let Weighted::Real(mixed) = read_weighted(put(folder.path(), "f", text), &()).unwrap() else {
        panic!("no numbers")
    };
    assert_eq!(mixed.graph.values(), [1.0, 1.0, 2.5, 2.5]);
    // a file that ends anywhere is an error, or has all of the graph
    let whole = PEOPLE.trim_end();
    for end in (10..whole.len()).filter(|&end| whole.is_char_boundary(end)) {
        let found = read_as(put(folder.path(), "f", &whole[..end]), FileFormat::GraphMl, &());
        assert!(found.is_err(), "{end}");
    }
}

#[test]
fn a_file_of_another_kind_is_no_graphml() {
    let folder = tempfile::tempdir().unwrap();
    let error = |text: &str| read(put(folder.path(), "f", text), &()).unwrap_err().to_string();
    assert!(error("<html></html>").ends_with("found XML or HTML"));
}
