//! A report as one HTML page.

use super::svg::{STYLE, escape};
use super::{Align, Block, Report, Section, Table};

const PAGE_STYLE: &str = include_str!("page.css");

pub(super) fn page(report: &Report) -> String {
    let title = escape(&report.title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{title}</title>\n\
         <style>\n{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n<header>\n\
         <p class=\"brand\">Farbird bench</p>\n<h1>{title}</h1>\n"
    );
    paragraph("lead", &report.lead, &mut out);
    out.push_str("<dl>\n");
    for (name, value) in &report.facts {
        out.push_str(&format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value)));
    }
    out.push_str("</dl>\n</header>\n");
    for one in &report.sections {
        section(one, &mut out);
    }
    out.push_str("<footer>Made by farbird bench. The page needs nothing from outside.</footer>\n</main>\n</body>\n</html>\n");
    out
}

fn section(section: &Section, out: &mut String) {
    out.push_str(&format!("<section>\n<h2>{}</h2>\n", escape(&section.heading)));
    paragraph("lead", &section.lead, out);
    for block in &section.blocks {
        match block {
            Block::Note(note) => paragraph("note", note, out),
            Block::Code(code) => out.push_str(&format!("<pre>{}</pre>\n", escape(code))),
            Block::Table(one) => table(one, out),
            Block::Bars(chart) => figure(&chart.title, &chart.to_element(), out),
            Block::Waterfall(waterfall) => figure(&waterfall.title, &waterfall.to_element(), out),
        }
    }
    out.push_str("</section>\n");
}

fn paragraph(class: &str, text: &str, out: &mut String) {
    if !text.is_empty() {
        out.push_str(&format!("<p class=\"{class}\">{}</p>\n", escape(text)));
    }
}

fn figure(title: &str, drawing: &str, out: &mut String) {
    out.push_str(&format!("<figure>\n<h3>{}</h3>\n{drawing}</figure>\n", escape(title)));
}

/// Columns beyond which a table is set in smaller type, so that the page shows it whole.
const COLUMNS_AT_EASE: usize = 12;

fn table(table: &Table, out: &mut String) {
    let class = if table.columns.len() > COLUMNS_AT_EASE { " class=\"wide\"" } else { "" };
    out.push_str(&format!("<div class=\"scroll\"><table{class}>\n"));
    if !table.caption.is_empty() {
        out.push_str(&format!("<caption>{}</caption>\n", escape(&table.caption)));
    }
    let class = |align: Align, is_strong: bool| match (align, is_strong) {
        (Align::Left, false) => "",
        (Align::Left, true) => " class=\"strong\"",
        (Align::Right, false) => " class=\"number\"",
        (Align::Right, true) => " class=\"number strong\"",
    };
    out.push_str("<thead><tr>");
    for column in &table.columns {
        out.push_str(&format!("<th{}>{}</th>", class(column.align, false), escape(&column.label)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (cell, column) in row.iter().zip(&table.columns) {
            out.push_str(&format!("<td{}>{}</td>", class(column.align, cell.is_strong), escape(&cell.text)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}
