//! `farbird bench records`: what rows take under each record codec, and how fast they are packed and read.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use farbird_lab::records::{CodecId, Figures, Input, Measurement, Plan, measure};
use serde_json::json;

use crate::{output, progress};

/// Measure the record codecs on rows of several kinds.
///
/// Rows are packed into blocks as large as the store keeps them, by each codec alone and under LZ4 and Zstandard, and read
/// back: all columns of all rows, one column of all rows, all columns of single rows. Speeds in MB/s count bytes of record
/// image, the fixed-width form in which Firebird keeps rows in memory, so that codecs can be compared.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Inputs, separated by commas: nulls, customers-full, customers-sparse, text, noise, ordered, random. All by default.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    input: Vec<Input>,

    /// Codecs, separated by commas: value, classic, long-run, elekt, column, each alone or with +lz4 or +zstd. All by default.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    codec: Vec<CodecId>,

    /// Rows of each input; fewer are taken of wide ones.
    #[arg(long, value_name = "COUNT", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rows: u64,

    /// Measure each figure so often and take the fastest.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    passes: u64,

    /// Fill blocks up to so many bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 15_600, value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    block_bytes: u64,

    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "Examples:
  farbird bench records                                  everything, side by side (a minute or two)
  farbird bench records --input text,customers-full --codec column,column+lz4,column+zstd
  farbird bench records --codec classic,long-run,elekt   the run-length codecs only
  farbird bench records --rows 200000 --passes 10        steadier figures
  farbird bench records --format json > records.json     for other programs";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for each input.
    Table,
    /// One object with all figures.
    Json,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let plan = Plan {
        inputs: some_or(&arguments.input, || Input::ALL.to_vec()),
        codecs: some_or(&arguments.codec, || CodecId::all().collect()),
        rows: usize::try_from(arguments.rows)?,
        passes: usize::try_from(arguments.passes)?,
        block_bytes: usize::try_from(arguments.block_bytes)?,
    };
    let bar = progress::bar("measuring codecs", (plan.inputs.len() * plan.codecs.len()) as u64);
    let measurements = measure(&plan, |_| bar.inc(1));
    bar.finish_and_clear();
    match arguments.format {
        Format::Table => output::answer(&tables(&measurements))?,
        Format::Json => output::answer_line(&serde_json::to_string_pretty(&json_of(&measurements))?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn some_or<T: Clone>(given: &[T], all: impl FnOnce() -> Vec<T>) -> Vec<T> {
    if given.is_empty() { all() } else { given.to_vec() }
}

fn tables(measurements: &[Measurement]) -> String {
    let mut out = String::new();
    let mut input = None;
    for measurement in measurements {
        if input != Some(measurement.input) {
            if input.is_some() {
                out.push('\n');
            }
            input = Some(measurement.input);
            heading(measurement, &mut out);
        }
        line(measurement, &mut out);
    }
    out
}

/// Writing to a string does not fail.
const NO_ERROR: &str = "a string takes what is written";

fn heading(measurement: &Measurement, out: &mut String) {
    let Measurement { input, rows, image_bytes, .. } = measurement;
    writeln!(out, "{}: {}", input.name(), input.about()).expect(NO_ERROR);
    writeln!(out, "{rows} rows; a record image takes {image_bytes} bytes").expect(NO_ERROR);
    writeln!(
        out,
        "  {:<14} {:>9} {:>9}  {:>17}  {:>17}  {:>10} {:>8}",
        "", "bytes", "rows", "encode", "decode", "one column", "one row"
    )
    .expect(NO_ERROR);
    writeln!(
        out,
        "  {:<14} {:>9} {:>9}  {:>8} {:>8}  {:>8} {:>8}  {:>10} {:>8}",
        "codec", "per row", "per block", "MB/s", "rows/s", "MB/s", "rows/s", "rows/s", "us"
    )
    .expect(NO_ERROR);
}

fn line(measurement: &Measurement, out: &mut String) {
    let name = measurement.codec.to_string();
    let Some(figures) = &measurement.figures else {
        writeln!(out, "  {name:<14} cannot hold these rows").expect(NO_ERROR);
        return;
    };
    let rates = Rates::of(measurement, figures);
    writeln!(
        out,
        "  {name:<14} {:>9} {:>9}  {:>8} {:>8}  {:>8} {:>8}  {:>10} {:>8.1}",
        bytes(rates.bytes_per_row),
        measurement.rows / figures.blocks.max(1),
        short(rates.encode_image_bytes / 1e6),
        short(rates.encode_rows),
        short(rates.decode_image_bytes / 1e6),
        short(rates.decode_rows),
        short(rates.one_column_rows),
        figures.one_row.as_secs_f64() * 1e6,
    )
    .expect(NO_ERROR);
}

/// Figures per row and per second.
struct Rates {
    bytes_per_row: f64,
    encode_rows: f64,
    encode_image_bytes: f64,
    decode_rows: f64,
    decode_image_bytes: f64,
    one_column_rows: f64,
}

impl Rates {
    fn of(measurement: &Measurement, figures: &Figures) -> Rates {
        let rows = measurement.rows as f64;
        let per_second = |time: Duration| rows / time.as_secs_f64().max(1e-9);
        let image = measurement.image_bytes as f64;
        Rates {
            bytes_per_row: figures.bytes as f64 / rows,
            encode_rows: per_second(figures.encode),
            encode_image_bytes: per_second(figures.encode) * image,
            decode_rows: per_second(figures.decode),
            decode_image_bytes: per_second(figures.decode) * image,
            one_column_rows: per_second(figures.one_column),
        }
    }
}

/// Few bytes matter to the hundredth.
fn bytes(count: f64) -> String {
    if count < 100.0 { format!("{count:.2}") } else { format!("{count:.1}") }
}

/// A number in three digits, thousands and millions by letter.
fn short(number: f64) -> String {
    let (scaled, letter) = match number {
        n if n >= 1e9 => (n / 1e9, "G"),
        n if n >= 1e6 => (n / 1e6, "M"),
        n if n >= 1e4 => (n / 1e3, "k"),
        n => (n, ""),
    };
    if scaled < 10.0 && !letter.is_empty() {
        format!("{scaled:.2}{letter}")
    } else {
        format!("{scaled:.0}{letter}")
    }
}

fn json_of(measurements: &[Measurement]) -> serde_json::Value {
    let list: Vec<serde_json::Value> = measurements
        .iter()
        .map(|measurement| {
            let mut object = json!({
                "input": measurement.input.name(),
                "codec": measurement.codec.to_string(),
                "rows": measurement.rows,
                "image_bytes": measurement.image_bytes,
            });
            if let (Some(figures), Some(fields)) = (&measurement.figures, object.as_object_mut()) {
                let rates = Rates::of(measurement, figures);
                fields.extend([
                    ("bytes_per_row".to_owned(), json!(rates.bytes_per_row)),
                    ("blocks".to_owned(), json!(figures.blocks)),
                    ("encode_rows_per_second".to_owned(), json!(rates.encode_rows)),
                    ("encode_image_bytes_per_second".to_owned(), json!(rates.encode_image_bytes)),
                    ("decode_rows_per_second".to_owned(), json!(rates.decode_rows)),
                    ("decode_image_bytes_per_second".to_owned(), json!(rates.decode_image_bytes)),
                    ("one_column_rows_per_second".to_owned(), json!(rates.one_column_rows)),
                    ("one_row_seconds".to_owned(), json!(figures.one_row.as_secs_f64())),
                ]);
            }
            object
        })
        .collect();
    json!({ "measurements": list })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(3.4), "3");
        assert_eq!(short(9_999.0), "9999");
        assert_eq!(short(12_345.0), "12k");
        assert_eq!(short(1_234_567.0), "1.23M");
        assert_eq!(short(2.5e9), "2.50G");
        assert_eq!(bytes(1.234), "1.23");
        assert_eq!(bytes(345.67), "345.7");
    }
}
