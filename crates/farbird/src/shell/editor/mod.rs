//! What a person types: an editor of lines with history, completion, colours, and statements of several lines.

mod complete;
mod highlight;
mod history;
mod scan;

use std::borrow::Cow;
use std::sync::Arc;

use parking_lot::Mutex;
use reedline::{
    ColumnarMenu, DefaultHinter, EditCommand, Emacs, KeyCode, KeyModifiers, MenuBuilder, Prompt,
    PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline, ReedlineEvent, ReedlineMenu,
    Signal, ValidationResult, Validator, default_emacs_keybindings,
};

pub(super) use complete::Names;

use super::command;

/// Name of the menu of completions.
const MENU: &str = "completion";

/// What the editor has to know of the conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    /// What ends a statement.
    terminator: Arc<Mutex<String>>,
    names: Arc<Mutex<Names>>,
    /// All that is typed at present.
    line: Arc<Mutex<String>>,
}

impl Context {
    pub(super) fn set_terminator(&self, terminator: &str) {
        terminator.clone_into(&mut self.terminator.lock());
    }

    pub(super) fn set_names(&self, names: Names) {
        *self.names.lock() = names;
    }
}

/// What a person does at the prompt.
pub(super) enum Line {
    /// Statements or a command, to be run.
    Entered(String),
    /// Ctrl-C: nothing is to be run.
    Cleared,
    /// Ctrl-D.
    End,
}

/// Reads what a person types.
pub(super) struct Editor {
    editor: Reedline,
}

impl Editor {
    pub(super) fn new(context: &Context) -> Editor {
        let mut keys = default_emacs_keybindings();
        let complete =
            ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext]);
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
        keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
        let new_line = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
        keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, new_line);
        let menu = ColumnarMenu::default().with_name(MENU).with_columns(4).with_marker("> ");
        let hint = nu_ansi_term::Style::new().fg(nu_ansi_term::Color::DarkGray);
        let mut editor = Reedline::create()
            .with_edit_mode(Box::new(Emacs::new(keys)))
            .with_highlighter(Box::new(highlight::SqlHighlighter(context.clone())))
            .with_validator(Box::new(Statements(context.clone())))
            .with_completer(Box::new(complete::SqlCompleter(context.clone())))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_hinter(Box::new(DefaultHinter::default().with_style(hint)))
            .with_history_exclusion_prefix(Some(" ".to_owned()))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .use_bracketed_paste(true);
        if let Some(program) = std::env::var_os("VISUAL").or_else(|| std::env::var_os("EDITOR")) {
            let file = std::env::temp_dir().join(format!("farbird-{}.sql", std::process::id()));
            editor = editor.with_buffer_editor(std::process::Command::new(program), file);
        }
        match history::open() {
            Ok(history) => editor = editor.with_history(history),
            Err(error) => eprintln!("farbird: the history is not kept: {error:#}"),
        }
        Editor { editor }
    }

    /// What is typed next. `has_changes`: something is changed and not committed.
    pub(super) fn read(&mut self, has_changes: bool) -> anyhow::Result<Line> {
        let line = match self.editor.read_line(&SqlPrompt { has_changes })? {
            Signal::Success(text) => Line::Entered(text),
            Signal::CtrlD => Line::End,
            _ => Line::Cleared,
        };
        // A crash or a kill must not take the history along.
        self.editor.sync_history()?;
        Ok(line)
    }
}

/// When Enter runs what is typed.
struct Statements(Context);

impl Validator for Statements {
    fn validate(&self, text: &str) -> ValidationResult {
        match is_complete(text, &self.0.terminator.lock()) {
            true => ValidationResult::Complete,
            false => ValidationResult::Incomplete,
        }
    }
}

/// Whether a text can run: it ends with the terminator, or needs none.
fn is_complete(text: &str, terminator: &str) -> bool {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.starts_with('\\') {
        return true;
    }
    // One line that is HELP or the like needs no terminator: nothing else can follow.
    let alone = matches!(
        command::parse(trimmed),
        Some(Ok(command::Command::Help(_) | command::Command::Leave { .. }))
    );
    if alone && !trimmed.contains('\n') {
        return true;
    }
    let mut statements = farbird_sql::split_script(text).with_terminator(terminator);
    match statements.by_ref().last() {
        // SET TERM is not handed out; a comment alone needs no more.
        None => true,
        Some(last) => last.terminated,
    }
}

struct SqlPrompt {
    has_changes: bool,
}

impl Prompt for SqlPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(if self.has_changes { "SQL*" } else { "SQL" })
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("> ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(if self.has_changes { "CON*> " } else { "CON> " })
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let found = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "nothing ",
        };
        Cow::Owned(format!(" ({found}found for '{}') ", search.term))
    }

    fn get_prompt_color(&self) -> reedline::Color {
        if self.has_changes { reedline::Color::Yellow } else { reedline::Color::Green }
    }
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn statements_end_with_the_terminator_and_commands_with_the_line() {
        for (text, terminator) in [
            ("select 1 from t;", ";"),
            ("select ';' from t ; ", ";"),
            ("begin a; b; end^", "^"),
            ("\\d people", ";"),
            ("quit", ";"),
            ("help show", ";"),
            ("set term ^ ;", ";"),
            ("", ";"),
        ] {
            assert!(is_complete(text, terminator), "{text}");
        }
        for (text, terminator) in [
            ("select 1", ";"),
            ("select ';", ";"),
            ("select 1; -- ;\nselect 2", ";"),
            ("begin a; b;", "^"),
            ("show tables", ";"),
        ] {
            assert!(!is_complete(text, terminator), "{text}");
        }
    }
}
