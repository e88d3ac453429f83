//! A page of one file without anything from elsewhere, and what it may do.

use ring::digest::{SHA256, digest};

/// Where a page has the style and the script that all pages have.
const STYLE_MARK: &str = "/* parts.css */\n";
const SCRIPT_MARK: &str = "/* parts.js */\n";

/// A page with one script and one style, both in it.
#[derive(Debug)]
pub struct Page {
    pub(crate) text: String,
    policy: String,
}

impl Page {
    /// A page. What it may do: run its own script, look as it says, ask its own server; nothing else, whatever is written into it.
    ///
    /// Where it says `/* parts.css */` and `/* parts.js */` stands what all pages have: how they look, tables, tiles, numbers.
    pub fn new(template: &str) -> Page {
        let text = template
            .replace(STYLE_MARK, include_str!("parts.css"))
            .replace(SCRIPT_MARK, include_str!("parts.js"));
        let (script, style) = (source_of(&text, "script"), source_of(&text, "style"));
        let policy = format!(
            "default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'"
        );
        Page { text, policy }
    }

    /// Its policy, as the header Content-Security-Policy has it.
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// What is not as it should be: more than one script or style, something from elsewhere, texts that could become markup.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for element in ["script", "style"] {
            let (any, plain) = (format!("<{element}"), format!("<{element}>"));
            if self.text.matches(&any).count() != 1 || self.text.matches(&plain).count() != 1 {
                faults.push(format!("not one {plain}"));
            }
        }
        // The name of SVG's elements is the only address, and nobody goes there.
        let elsewhere = self.text.replace("http://www.w3.org/2000/svg", "");
        let words = [
            "http:",
            "https:",
            "src=",
            "@import",
            "url(",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
        ];
        faults.extend(words.iter().filter(|word| elsewhere.contains(**word)).map(|word| (*word).to_owned()));
        if self.policy.contains("unsafe") {
            faults.push("an unsafe policy".to_owned());
        }
        faults
    }
}

/// The source of the only element of this kind in the page, as a policy names it: by its hash.
fn source_of(page: &str, element: &str) -> String {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let inside = page.split_once(&open).and_then(|(_, rest)| rest.split_once(&close));
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
    fn a_page_with_something_from_elsewhere_is_at_fault() {
        let sound = Page::new("<style>a{}</style><script>1</script>");
        assert!(sound.faults().is_empty() && sound.policy().contains("script-src 'sha256-"));
        assert!(!Page::new("<style></style><script></script><script src=x></script>").faults().is_empty());
    }
}
