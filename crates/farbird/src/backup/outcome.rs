//! What a backup or a restore says at its end.

use std::io::Write;

use clap::ValueEnum;
use farbird_engine::backup::BackupSummary;
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

/// How the outcome is told.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A sentence.
    Text,
    /// A JSON object.
    Json,
}

/// Figures of a backup or a restore that is done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// What is in it; of a backup that a server restored, only its size is known.
    pub(crate) summary: Option<BackupSummary>,
    /// Size of the backup in bytes.
    pub(crate) bytes: u64,
    /// How long it took.
    pub(crate) seconds: f64,
    /// The numbers of the transactions whose work a backup leaves out, as they are prepared; `None` of a restore.
    pub(crate) left_out: Option<Vec<u64>>,
}

impl Outcome {
    /// The figures of a summary.
    pub(crate) fn of(summary: BackupSummary) -> Outcome {
        Outcome { summary: Some(summary), bytes: summary.bytes, ..Outcome::default() }
    }

    /// The figures of a backup of which only the size is known.
    pub(crate) fn of_size(bytes: u64) -> Outcome {
        Outcome { bytes, ..Outcome::default() }
    }

    /// Says what was done: on standard output, or on standard error if that holds the backup itself.
    pub(crate) fn tell(&self, done: &str, format: Format, stdout_is_taken: bool) -> std::io::Result<()> {
        let text = match format {
            Format::Text => self.sentence(done),
            Format::Json => self.object().to_string(),
        };
        if stdout_is_taken {
            writeln!(std::io::stderr(), "{text}")
        } else {
            writeln!(std::io::stdout(), "{text}")
        }
    }

    /// As [`Outcome::tell`], with what is not as it was: objects and reasons.
    pub(crate) fn tell_with(
        &self,
        done: &str,
        format: Format,
        differences: &[(&str, &str)],
        stdout_is_taken: bool,
    ) -> std::io::Result<()> {
        let mut out: Box<dyn Write> = match stdout_is_taken {
            true => Box::new(std::io::stderr()),
            false => Box::new(std::io::stdout()),
        };
        if let Format::Json = format {
            let mut object = self.object();
            let list = differences.iter().map(|(what, why)| json!({ "object": what, "reason": why }));
            object["differences"] = list.collect();
            return writeln!(out, "{object}");
        }
        writeln!(out, "{}", self.sentence(done))?;
        if !differences.is_empty() {
            writeln!(out, "not in it, or not as it was:")?;
        }
        for (what, why) in differences {
            writeln!(out, "  {what}: {}", why.replace('\n', "\n    "))?;
        }
        Ok(())
    }

    fn sentence(&self, done: &str) -> String {
        let contents = match &self.summary {
            None => String::new(),
            Some(summary) => {
                let mut parts = vec![
                    counted(summary.relations, "table"),
                    counted(summary.rows, "row"),
                    format!("{} ({})", counted(summary.blobs, "blob"), HumanBytes(summary.blob_bytes)),
                ];
                if summary.indexes > 0 {
                    parts.push(format!("{} built", counted_index(summary.indexes)));
                }
                format!("{}; ", parts.join(", "))
            }
        };
        let left_out = match self.left_out.as_deref().unwrap_or_default() {
            [] => String::new(),
            list => format!("; without {}", prepared_transactions(list)),
        };
        format!("{done}: {contents}{} of backup in {:.2} s{left_out}", HumanBytes(self.bytes), self.seconds)
    }

    fn object(&self) -> serde_json::Value {
        let mut object = json!({ "bytes": self.bytes, "seconds": self.seconds });
        if let Some(summary) = &self.summary {
            object["commit"] = json!(summary.commit.0);
            object["tables"] = json!(summary.relations);
            object["rows"] = json!(summary.rows);
            object["blobs"] = json!(summary.blobs);
            object["blob_bytes"] = json!(summary.blob_bytes);
            object["indexes"] = json!(summary.indexes);
        }
        if let Some(list) = &self.left_out {
            object["prepared_transactions_left_out"] = json!(list);
        }
        object
    }
}

/// How many prepared transactions there are, and which.
pub(super) fn prepared_transactions(list: &[u64]) -> String {
    let numbers: Vec<String> = list.iter().map(u64::to_string).collect();
    format!("{} ({})", counted(list.len() as u64, "prepared transaction"), numbers.join(", "))
}

fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", HumanCount(number), if number == 1 { "" } else { "s" })
}

fn counted_index(number: u64) -> String {
    format!("{} {}", HumanCount(number), if number == 1 { "index" } else { "indexes" })
}
