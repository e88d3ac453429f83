//! Asking again and again, until Ctrl-C or until nobody reads on (`| head`).

use std::io::ErrorKind;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::backup::{Format, Interrupt};
use crate::output;

/// How often it is looked whether somebody has pressed Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Prints what `ask` gives every so many seconds: on a terminal in the place of what was there before.
pub(super) fn run(
    format: Format,
    seconds: u32,
    ask: impl Fn() -> anyhow::Result<String>,
) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::watch()?;
    let terminal = console::Term::stdout();
    let replaces = terminal.is_term() && format == Format::Text;
    let pause = Duration::from_secs(seconds.into());
    while !interrupt.cancel().is_raised() {
        let begun = Instant::now();
        let told = ask()?;
        if replaces {
            terminal.clear_screen()?;
        }
        let below = if replaces { format!("\nevery {seconds} s; Ctrl-C ends\n") } else { String::new() };
        match output::write(&(told + &below)) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            printed => printed?,
        }
        while begun.elapsed() < pause && !interrupt.cancel().is_raised() {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    Ok(ExitCode::SUCCESS)
}
