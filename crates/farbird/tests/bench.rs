//! `farbird bench blobs | nested | fetch | connect | rows`, each as small as it gets: what it counts is right, its JSON is
//! JSON, its page is well formed and needs nothing from outside, and nothing is left behind.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs an experiment on a server of its own, with a page; gives the JSON and the page.
fn bench(arguments: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    let scratch = folder.path().join("scratch");
    std::fs::create_dir(&scratch).expect("a folder");
    let output = run(&scratch, &page, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    let left: Vec<_> = std::fs::read_dir(&scratch).expect("the folder").collect();
    assert!(left.is_empty(), "left behind: {left:?}");
    let json = serde_json::from_slice(&output.stdout).expect("JSON");
    let page = std::fs::read_to_string(page).expect("the page");
    assert_is_whole(&page);
    (json, page)
}

fn run(scratch: &Path, page: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_farbird"))
        .arg("bench")
        .args(arguments)
        .args(["--format", "json", "--html"])
        .arg(page)
        .arg("--scratch")
        .arg(scratch)
        .output()
        .expect("farbird runs")
}

/// The page's tags are closed in order, and nothing in it would be asked of anybody else.
fn assert_is_whole(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>"), "no page");
    let mut open = Vec::new();
    for piece in page.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag that ends");
        assert!(!text.contains('>'), "a stray > in {text:?}");
        let name = tag.trim_end_matches('/').split([' ', '\n']).next().expect("a name");
        match name {
            "!DOCTYPE" => {}
            _ if tag.ends_with('/') => {}
            _ if name.starts_with('/') => assert_eq!(open.pop(), name.get(1..), "closed by {tag}"),
            _ => open.push(name),
        }
        for attribute in ["src=", "href=", "@import", "url("] {
            assert!(!tag.contains(attribute), "{tag} asks for something");
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    // The name of SVG looks like an address and is none.
    let named = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for part in ["http:", "https:", "@import", "url(", "<script", "<link"] {
        assert!(!named.contains(part), "the page names {part}");
    }
}

fn figures(json: &Value) -> &[Value] {
    json["figures"].as_array().expect("figures")
}

fn number(figure: &Value, name: &str) -> f64 {
    figure[name].as_f64().unwrap_or_else(|| panic!("{name} of {figure}"))
}

#[test]
fn blobs_of_every_query_are_read_whole_by_every_client() {
    let (json, page) = bench(&["blobs", "--rows", "10", "--rtt", "0", "--inline", "65535,0"]);
    let queries = ["short-blobs", "varchar", "all-blobs", "mixed", "mixed-optimised", "blob-ids"];
    for query in queries {
        let of_query: Vec<&Value> = figures(&json).iter().filter(|figure| figure["query"] == query).collect();
        // Six presets, two of them with two inline sizes where there are BLOBs; with and without compression.
        let runs = if query == "varchar" { 12 } else { 16 };
        assert_eq!(of_query.len(), runs, "{query}");
        let first = of_query[0];
        for figure in &of_query {
            assert_eq!(number(figure, "record_count"), 10.0, "{figure}");
            assert_eq!(figure["content_bytes"], first["content_bytes"], "{figure}");
            assert_eq!(figure["max_id"], first["max_id"], "{figure}");
            assert_eq!(figure["is_complete"], true);
            assert!(number(&figure["wire"], "round_trips") > 0.0, "{figure}");
            assert!(number(figure, "elapsed_ms") > 0.0);
        }
        assert_eq!(number(first, "content_bytes") > 0.0, query != "blob-ids");
    }
    let content = |query: &str| {
        let figure = figures(&json).iter().find(|figure| figure["query"] == query);
        number(figure.expect("a figure"), "content_bytes")
    };
    // The same texts, however they are kept.
    assert_eq!(content("short-blobs"), content("varchar"));
    assert_eq!(content("all-blobs"), content("mixed"));
    assert_eq!(content("all-blobs"), content("mixed-optimised"));
    assert!(page.contains("Mixed, optimised"));
}

#[test]
fn a_folder_of_files_can_be_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("inner")).expect("a folder");
    std::fs::write(folder.path().join("a.txt"), "a".repeat(5_000)).expect("a file");
    std::fs::write(folder.path().join("inner/b.txt"), "b".repeat(20_000)).expect("a file");
    std::fs::write(folder.path().join("noise"), [0xFF, 0xFE, 0]).expect("a file");
    let name = folder.path().to_str().expect("a name");
    let (json, _) = bench(&[
        "blobs",
        "--rows",
        "4",
        "--rtt",
        "0",
        "--folder",
        name,
        "--query",
        "all-blobs,short-blobs",
        "--preset",
        "farbird",
        "--compress",
        "off",
        "--inline",
        "65535",
    ]);
    let bytes: Vec<f64> = figures(&json).iter().map(|figure| number(figure, "content_bytes")).collect();
    assert_eq!(bytes, [50_000.0, 20_000.0]);
}

#[test]
fn a_run_that_takes_too_long_is_ended_and_projected() {
    let (json, page) = bench(&[
        "blobs",
        "--rows",
        "200",
        "--rtt",
        "20ms",
        "--query",
        "all-blobs",
        "--preset",
        "5.0.1",
        "--compress",
        "on",
        "--patience",
        "200ms",
    ]);
    let [figure] = figures(&json) else { panic!("{json}") };
    assert_eq!(figure["is_complete"], false);
    assert!(number(figure, "record_count") < 200.0);
    assert!(number(figure, "projected_ms") > number(figure, "elapsed_ms"));
    assert!(page.contains("were ended"));
}

#[test]
fn nested_queries_give_the_same_rows_to_every_client() {
    let (json, _) = bench(&["nested", "--rtt", "0"]);
    assert_eq!(figures(&json).len(), 6);
    let first = &figures(&json)[0];
    assert!(number(first, "outer_rows") > 30.0 && number(first, "inner_rows") > 300.0, "{first}");
    for figure in figures(&json) {
        assert_eq!(figure["outer_rows"], first["outer_rows"]);
        assert_eq!(figure["inner_rows"], first["inner_rows"]);
        let steps = ["connecting_ms", "starting_ms", "preparing_ms", "executing_ms", "fetching_ms"];
        let sum: f64 = steps.iter().map(|step| number(figure, step)).sum();
        let total = number(figure, "total_ms");
        assert!(sum > 0.0 && (total - sum).abs() < total * 0.2 + 5.0, "{figure}");
        assert!(number(&figure["wire"], "round_trips") > 4.0);
    }
}

#[test]
fn published_totals_stand_beside_those_for_the_same_distance() {
    let (_, page) = bench(&["nested", "--rtt", "200ms", "--preset", "farbird"]);
    assert!(page.contains("55.5 s") && page.contains("18.5 s") && page.contains("10.1 s"));
}

#[test]
fn rows_are_fetched_wide_and_narrow() {
    let (json, _) = bench(&["fetch", "--rows", "20", "--narrow-rows", "3000", "--rtt", "0,2ms"]);
    let count = |table: &str| {
        let of_table = figures(&json).iter().filter(|figure| figure["table"] == table);
        of_table.map(|figure| number(figure, "record_count")).collect::<Vec<_>>()
    };
    // Two presets, with and without compression, at two distances; narrow rows only at none.
    assert_eq!(count("full"), [20.0; 8]);
    assert_eq!(count("half-null"), [20.0; 8]);
    assert_eq!(count("part"), [10.0; 8]);
    assert_eq!(count("narrow"), [3_000.0; 4]);
    let bytes = |table: &str| {
        let figure = figures(&json).iter().find(|figure| figure["table"] == table).expect("a figure");
        number(&figure["wire"], "logical_bytes_received")
    };
    assert!(bytes("half-null") < bytes("full") * 0.8, "NULLs take hardly any room");
}

#[test]
fn connecting_is_counted_to_the_first_row() {
    let (json, _) = bench(&["connect", "--rtt", "0", "--runs", "1"]);
    assert_eq!(figures(&json).len(), 12);
    for figure in figures(&json) {
        assert!(number(figure, "first_row_ms") >= number(figure, "attached_ms"));
        let trips = number(&figure["wire_first_row"], "round_trips");
        assert!((2.0..=20.0).contains(&trips), "{figure}");
        assert!(trips >= number(&figure["wire_attached"], "round_trips"));
    }
}

#[test]
fn rows_of_null_are_counted_and_weighed_for_every_codec() {
    let (json, _) = bench(&["rows", "--rows", "2000"]);
    assert_eq!(figures(&json).len(), 15, "five codecs in three character sets");
    for figure in figures(&json) {
        assert_eq!(number(figure, "rows"), 2_000.0);
        assert!(number(figure, "bytes_on_disk") > 0.0);
        assert!(number(figure, "insert_ms") > 0.0);
    }
}

/// Rows, and the sum of all numbers in them, of the answers at scale 0.01: PostgreSQL 15, DuckDB 2.0 and Firebird 3.0 agree.
const TPCH_ANSWERS: [(&str, f64, f64); 22] = [
    ("Q1", 4.0, 6_234_292_168.453_803),
    ("Q2", 4.0, 11_266.29),
    ("Q3", 10.0, 2_581_810.355_2),
    ("Q4", 5.0, 535.0),
    ("Q5", 5.0, 3_391_042.911_4),
    ("Q6", 1.0, 1_193_053.225_3),
    ("Q7", 4.0, 1_580_168.249),
    ("Q8", 2.0, 3_991.0),
    ("Q9", 173.0, 65_313_958.464_3),
    ("Q10", 20.0, 6_548_783.841),
    ("Q11", 1.0, 13_272_625.89),
    ("Q12", 2.0, 307.0),
    ("Q13", 33.0, 2_028.0),
    ("Q14", 1.0, 15.486_545_812_284_08),
    ("Q15", 1.0, 1_161_120.463_6),
    ("Q16", 296.0, 8_763.0),
    ("Q17", 1.0, 0.0),
    ("Q18", 2.0, 899_539.88),
    ("Q19", 1.0, 22_923.028),
    ("Q20", 1.0, 0.0),
    ("Q21", 1.0, 9.0),
    ("Q22", 7.0, 566_638.92),
];

#[test]
fn the_queries_of_tpch_give_what_other_databases_give() {
    let (json, page) =
        bench(&["sql", "tpch", "--scale", "0.01", "--runs", "1", "--timeout", "30m", "--target", "own"]);
    for (name, rows, sum) in TPCH_ANSWERS {
        let figure = figures(&json).iter().find(|figure| figure["name"] == name).expect("a figure");
        assert_eq!(figure["outcome"], "done", "{figure}");
        assert_eq!(number(figure, "row_count"), rows, "{name}");
        let given = number(figure, "number_sum");
        assert!((given - sum).abs() <= sum.abs() * 1e-9 + 1e-9, "{name}: {given} instead of {sum}");
    }
    assert!(page.contains("volume shipping") && page.contains("geometric mean"));
}

#[test]
fn every_other_section_of_sql_is_done() {
    let sections = ["sql", "joins", "groups", "psql", "points", "mixed", "metadata", "--tables", "200"];
    let sizes = ["--films", "100", "--rows", "1000", "--loops", "1000", "--points", "1000"];
    let mixed = ["--accounts", "1000", "--connections", "3", "--time", "300ms", "--runs", "2"];
    let (json, page) = bench(&[&sections[..], &sizes[..], &mixed[..], &["--indexes", "off"]].concat());
    for (section, least) in
        [("joins", 16), ("groups", 17), ("psql", 7), ("points", 13), ("mixed", 6), ("metadata", 5)]
    {
        let of_section: Vec<&Value> =
            figures(&json).iter().filter(|figure| figure["section"] == section).collect();
        assert!(of_section.len() >= least, "{section} has {}", of_section.len());
        for figure in of_section {
            assert_eq!(figure["outcome"], "done", "{figure}");
            assert!(number(figure, "best") > 0.0, "{figure}");
        }
    }
    let of = |name: &str| figures(&json).iter().find(|figure| figure["name"] == name).expect("a figure");
    // What a table of 1,000 rows gives, whoever counts.
    assert_eq!(number(of("distinct"), "number_sum"), 1_000.0);
    assert_eq!(number(of("by_10"), "row_count"), 10.0);
    assert!(number(&of("report")["percentiles"], "max_ms") > 0.0);
    let embedded = figures(&json).iter().filter(|figure| figure["server"] == "Farbird embedded").count();
    assert_eq!(embedded, 4, "reads, updates and deletes inside the process, and a file opened");
    assert!(page.contains("How long single operations took"));
}

#[test]
fn a_statement_that_takes_too_long_is_ended_and_shown_as_such() {
    let (json, page) =
        bench(&["sql", "tpch", "--scale", "0.01", "--queries", "6,9", "--runs", "2", "--timeout", "1ms"]);
    let outcomes: Vec<&Value> = figures(&json)
        .iter()
        .filter(|figure| figure["name"] == "Q9")
        .map(|figure| &figure["outcome"])
        .collect();
    assert_eq!(outcomes, ["timed_out"]);
    assert!(!figures(&json).iter().any(|figure| figure["name"] == "Q1"), "only what was chosen");
    assert!(page.contains("timed out"));
}

#[test]
fn options_that_no_section_obeys_are_refused() {
    for arguments in [["groups", "--queries", "1"], ["tpch", "--rows", "1000"], ["psql", "--indexes", "off"]]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_farbird"))
            .args(["bench", "sql"])
            .args(arguments)
            .output()
            .expect("farbird runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(arguments[1]), "{arguments:?}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing_behind() {
    let scratch = tempfile::tempdir().expect("a folder");
    let is_empty = || std::fs::read_dir(scratch.path()).expect("the folder").next().is_none();
    let mut child = Command::new(env!("CARGO_BIN_EXE_farbird"))
        .args(["bench", "blobs", "--rtt", "200ms", "--preset", "2.0", "--scratch"])
        .arg(scratch.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("farbird runs");
    while is_empty() {
        assert!(child.try_wait().expect("its state").is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let signalled = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(signalled.expect("kill runs").success());
    let output = child.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    assert!(is_empty(), "left behind");
}

#[test]
fn nothing_is_done_to_a_database_that_the_benchmark_would_have_to_make() {
    let output = Command::new(env!("CARGO_BIN_EXE_farbird"))
        .args(["bench", "rows", "--target", "own", "--target", "own"])
        .output()
        .expect("farbird runs");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("one server of our own"));
}

/// The statements of `bench calibrate` run by the plans that they ask for, every constant is measured, and nothing is left behind.
#[test]
fn each_constant_of_the_cost_model_is_measured() {
    let scratch = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_farbird"))
        .args(["bench", "calibrate", "--rows", "20000", "--runs", "1", "--format", "json"])
        .env("TMPDIR", scratch.path())
        .output()
        .expect("farbird runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let constants = json["constants"].as_array().expect("constants");
    let mut names: Vec<&str> =
        constants.iter().map(|constant| constant["name"].as_str().expect("a name")).collect();
    for constant in constants {
        let name = &constant["name"];
        assert!(constant["planner_us"].as_f64().is_some_and(|counted| counted > 0.0), "{name}");
        // On a busy machine a difference of two times may be below zero.
        assert!(constant["measured_us"].as_f64().is_some_and(f64::is_finite), "{name}");
        assert!(constant["meaning"].as_str().is_some_and(|meaning| !meaning.is_empty()), "{name}");
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(count >= 16 && names.len() == count, "{names:?}");
    let left: Vec<_> = std::fs::read_dir(scratch.path()).expect("the folder").collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}
