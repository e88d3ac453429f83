//! The form of user names that SRP and the security database use.
//!
//! Source: wire-protocol.md, 3.2.

use farbird_types::{Error, isc};

/// Longest user name in bytes.
pub const USER_NAME_BYTES_MAX: usize = 63;

/// Turns a login as typed into the stored form: quotes are taken off, plain identifiers become upper-case.
///
/// # Errors
/// isc_quoted_str_miss and isc_quoted_str_bad for bad quoting, isc_long_login for a name that is too long.
pub fn normalize_user_name(typed: &str) -> Result<String, Error> {
    let mut characters = typed.chars();
    let name = match characters.next() {
        Some('"') => unquote(characters.as_str(), '"')?,
        Some('\'') => {
            let name = unquote(characters.as_str(), '\'')?;
            if is_plain(&name) { name.to_ascii_uppercase() } else { name }
        }
        _ if is_plain(typed) => typed.to_ascii_uppercase(),
        _ => typed.to_owned(),
    };
    if name.len() > USER_NAME_BYTES_MAX { Err(Error::new(isc::LONG_LOGIN)) } else { Ok(name) }
}

/// Letters, digits, `_` and `$`, not beginning with a digit.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    name.bytes().all(plain) && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// The text up to the closing quote, which must be the last character; doubled quotes stand for one.
fn unquote(rest: &str, quote: char) -> Result<String, Error> {
    let mut name = String::new();
    let mut characters = rest.chars();
    while let Some(character) = characters.next() {
        if character != quote {
            name.push(character);
            continue;
        }
        match characters.next() {
            Some(next) if next == quote => name.push(quote),
            Some(_) => return Err(Error::new(isc::QUOTED_STR_BAD)),
            None => return Ok(name),
        }
    }
    Err(Error::new(isc::QUOTED_STR_MISS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_normalised_by_their_quoting() {
        for (typed, stored) in [
            ("sysdba", "SYSDBA"),
            ("a_1$", "A_1$"),
            ("1abc", "1abc"),
            ("john.doe", "john.doe"),
            ("\"Joe \"\"X\"\"\"", "Joe \"X\""),
            ("'joe'", "JOE"),
            ("'joe o''neil'", "joe o'neil"),
            ("jürgen", "jürgen"),
            ("", ""),
        ] {
            assert_eq!(normalize_user_name(typed).as_deref(), Ok(stored), "{typed}");
        }
    }

    #[test]
    fn bad_quoting_and_long_names_are_errors() {
        let code = |typed: &str| normalize_user_name(typed).unwrap_err().gds_code();
        assert_eq!(code("\"joe"), isc::QUOTED_STR_MISS);
        assert_eq!(code("\"joe\"x"), isc::QUOTED_STR_BAD);
        assert_eq!(code(&"x".repeat(64)), isc::LONG_LOGIN);
    }
}
