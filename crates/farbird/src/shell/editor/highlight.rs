//! Colours for SQL.

use std::collections::HashSet;
use std::sync::LazyLock;

use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, StyledText};

use super::Context;
use super::scan::{PieceKind, pieces};

static KEYWORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| farbird_sql::keywords().collect());

/// Colours keywords, strings, numbers and comments.
pub(super) struct SqlHighlighter(pub(super) Context);

impl Highlighter for SqlHighlighter {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        // Completion is shown only what stands before the cursor: it gets the rest from here.
        line.clone_into(&mut self.0.line.lock());
        let mut styled = StyledText::new();
        for (kind, piece) in pieces(line) {
            let style = match kind {
                PieceKind::Word if KEYWORDS.contains(piece.to_uppercase().as_str()) => {
                    Style::new().fg(Color::Blue).bold()
                }
                PieceKind::Text => Style::new().fg(Color::Green),
                PieceKind::QuotedName => Style::new().fg(Color::Cyan),
                PieceKind::Number => Style::new().fg(Color::Magenta),
                PieceKind::Comment => Style::new().fg(Color::DarkGray).italic(),
                PieceKind::Word | PieceKind::Other => Style::new(),
            };
            styled.push((style, piece.to_owned()));
        }
        styled
    }
}
