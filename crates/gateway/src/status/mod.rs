//! The status page of an end of the farlink: a page for people at `/`, what it shows at `/state.json` and `/trips.json`, metrics for
//! Prometheus at `/metrics`.
//!
//! The page is one file without anything from elsewhere; it asks for the JSON each second. It shows statements' texts: it is for
//! administrators, and served where they say.
//!
//! | file | subject |
//! |---|---|
//! | `http` | requests and responses, and who is refused |
//! | `edge`, `origin` | what either end says |
//! | `metrics` | the text that Prometheus reads |
//! | `page.html` | the page |

mod edge;
mod http;
pub(crate) mod metrics;
mod origin;

use std::sync::LazyLock;

use ring::digest::{SHA256, digest};

pub(crate) use edge::{EdgeFacts, GoneFacts, LoopFacts, ProgramFacts, micros};
pub(crate) use http::{Names, serve};
pub(crate) use origin::{OriginFacts, SessionFacts};

/// An end, as the page asks it.
pub(crate) trait Shown: Send + Sync {
    /// What the page shows, as JSON.
    fn state(&self) -> String;
    /// The waterfall of one program, as JSON, if there is such a program.
    fn trips(&self, program: u32) -> Option<String>;
    /// The metrics.
    fn metrics(&self) -> String;
}

/// The page.
const PAGE: &str = include_str!("page.html");

/// What the page may do: run its own script, look as it says, ask its own server; nothing else, whatever is written into it.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let (script, style) = (source_of("script"), source_of("style"));
    format!(
        "default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
});

/// The source of the only element of this kind in the page, as a policy names it: by its hash.
fn source_of(element: &str) -> String {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let inside = PAGE.split_once(&open).and_then(|(_, rest)| rest.split_once(&close));
    let contents = inside.map(|(contents, _)| contents).unwrap_or_default();
    format!("'sha256-{}'", base64(digest(&SHA256, contents.as_bytes()).as_ref()))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0_u32, |number, place| {
            number << 8 | u32::from(three.get(place).copied().unwrap_or_default())
        });
        for place in 0..4 {
            let digit = (number >> (18 - 6 * place) & 63) as usize;
            out.push(if place <= three.len() { char::from(DIGITS[digit]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_written_as_policies_have_them() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_page_has_words_for_all_that_saves_trips() {
        let kinds = PAGE.split("const KINDS = {").nth(1).and_then(|behind| behind.split('}').next()).unwrap();
        for kind in farbird_farlink::edge::Saved::ALL {
            assert!(kinds.contains(&format!(" {}: \"", kind.name())), "{}", kind.name());
        }
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere_and_has_one_script_and_one_style() {
        for element in ["script", "style"] {
            assert_eq!(PAGE.matches(&format!("<{element}")).count(), 1, "{element}");
            assert_eq!(PAGE.matches(&format!("<{element}>")).count(), 1, "{element}");
        }
        // The name of SVG's elements is the only address, and nobody goes there.
        let elsewhere = PAGE.replace("http://www.w3.org/2000/svg", "");
        for word in [
            "http:",
            "https:",
            "src=",
            "@import",
            "url(",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
        ] {
            assert!(!elsewhere.contains(word), "{word}");
        }
        assert!(POLICY.contains("script-src 'sha256-") && !POLICY.contains("unsafe"));
    }
}
