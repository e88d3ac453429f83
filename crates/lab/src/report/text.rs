//! A report for a terminal: aligned tables.

use super::{Align, Block, Report, Table};

pub(super) fn report(report: &Report) -> String {
    let mut out = format!("{}\n", report.title);
    push_lead(&report.lead, &mut out);
    out.push('\n');
    let width = report.facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, value) in &report.facts {
        push_padded(name, width, Align::Left, &mut out);
        out.push_str("  ");
        out.push_str(value);
        out.push('\n');
    }
    for section in &report.sections {
        out.push('\n');
        out.push_str(&section.heading);
        out.push('\n');
        push_lead(&section.lead, &mut out);
        for block in &section.blocks {
            match block {
                Block::Note(text) | Block::Code(text) => push_lead(text, &mut out),
                Block::Table(one) => {
                    out.push('\n');
                    table(one, &mut out);
                }
                Block::Bars(_) | Block::Waterfall(_) => {}
            }
        }
    }
    out
}

fn push_lead(lead: &str, out: &mut String) {
    if !lead.is_empty() {
        out.push_str(lead);
        out.push('\n');
    }
}

fn table(table: &Table, out: &mut String) {
    if !table.caption.is_empty() {
        out.push_str(&table.caption);
        out.push('\n');
    }
    let widths: Vec<usize> = table
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let cells =
                table.rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.text.chars().count());
            cells.chain([column.label.chars().count()]).max().unwrap_or_default()
        })
        .collect();
    let mut line = |texts: &mut dyn Iterator<Item = &str>| {
        let mut row = String::from("  ");
        for ((text, width), column) in texts.zip(&widths).zip(&table.columns) {
            push_padded(text, *width, column.align, &mut row);
            row.push_str("  ");
        }
        out.push_str(row.trim_end());
        out.push('\n');
    };
    line(&mut table.columns.iter().map(|column| column.label.as_str()));
    for row in &table.rows {
        line(&mut row.iter().map(|cell| cell.text.as_str()));
    }
}

fn push_padded(text: &str, width: usize, align: Align, out: &mut String) {
    let gap = width.saturating_sub(text.chars().count());
    if align == Align::Right {
        out.extend(std::iter::repeat_n(' ', gap));
    }
    out.push_str(text);
    if align == Align::Left {
        out.extend(std::iter::repeat_n(' ', gap));
    }
}
