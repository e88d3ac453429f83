//! Rust's text as far as imports need it: without comments, literals and tests; the items and `use`s of a file.

/// An import: the path, the name that it is given here, and whether it is handed on (`pub use`).
pub(super) struct Import {
    pub(super) path: Vec<String>,
    pub(super) name: String,
    pub(super) is_public: bool,
}

/// The text without comments, without what stands in literals, and without what is built for tests only.
pub(super) fn code(text: &str) -> String {
    without_tests(&without_comments(text))
}

fn without_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        if rest.starts_with(b"//") {
            at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            at += block_comment(rest);
        } else if let Some(length) = raw_string(rest, out.last().copied()) {
            out.push(b' ');
            at += length;
        } else if rest[0] == b'"' {
            out.push(b' ');
            at += string(rest);
        } else if let Some(length) = character(rest) {
            out.push(b' ');
            at += length;
        } else {
            out.push(rest[0]);
            at += 1;
        }
    }
    String::from_utf8(out).expect("cut at ASCII")
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (1, 2);
    while depth > 0 && at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    at
}

fn raw_string(rest: &[u8], before: Option<u8>) -> Option<usize> {
    if before.is_some_and(is_word) {
        return None;
    }
    let prefix = if rest.starts_with(b"br") { 2 } else { usize::from(rest[0] == b'r') };
    let hashes = rest.get(prefix..)?.iter().take_while(|byte| **byte == b'#').count();
    if prefix == 0 || rest.get(prefix + hashes) != Some(&b'"') {
        return None;
    }
    let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    let start = prefix + hashes + 1;
    let length = rest[start..].windows(end.len()).position(|window| window == end)?;
    Some(start + length + end.len())
}

fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != b'"' {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The length of a character literal; a lifetime is none.
fn character(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'\'', b'\\', tail @ ..] => Some(tail.iter().skip(1).position(|byte| *byte == b'\'')? + 4),
        [b'\'', ..] => {
            let text = std::str::from_utf8(&rest[1..rest.len().min(6)]);
            let text = text.or_else(|error| std::str::from_utf8(&rest[1..1 + error.valid_up_to()])).ok()?;
            let width = text.chars().next()?.len_utf8();
            (rest.get(1 + width) == Some(&b'\'')).then_some(width + 2)
        }
        _ => None,
    }
}

fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find(MARK) {
        out.push_str(&rest[..start]);
        let item = &rest[start + MARK.len()..];
        let mut depth = 0;
        let end = item.bytes().position(|byte| {
            depth += i32::from(byte == b'{') - i32::from(byte == b'}');
            depth == 0 && matches!(byte, b'}' | b';')
        });
        rest = &item[end.map_or(item.len(), |end| end + 1)..];
    }
    out + rest
}

pub(super) fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// The words and signs of code; `::` is one sign.
pub(super) fn tokens(code: &str) -> Vec<&str> {
    let bytes = code.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = match &bytes[at..] {
            [b':', b':', ..] => 2,
            rest if is_word(rest[0]) => rest.iter().take_while(|byte| is_word(**byte)).count(),
            rest => rest.iter().take_while(|byte| !byte.is_ascii()).count().max(1),
        };
        if !bytes[at].is_ascii_whitespace() {
            tokens.push(&code[at..at + length]);
        }
        at += length;
    }
    tokens
}

/// Names of the items and of the modules in other files that stand at the top level.
pub(super) fn items(tokens: &[&str]) -> (Vec<String>, Vec<String>) {
    let (mut items, mut modules) = (Vec::new(), Vec::new());
    let mut depth = 0;
    for (place, token) in tokens.iter().enumerate() {
        match *token {
            "{" => depth += 1,
            "}" => depth -= 1,
            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" if depth == 0 => {
                items.extend(tokens.get(place + 1).map(|name| (*name).to_owned()));
            }
            "macro_rules" if depth == 0 => items.extend(tokens.get(place + 2).map(|name| (*name).to_owned())),
            "mod" if depth == 0 && tokens.get(place + 2) == Some(&";") => {
                modules.push(tokens[place + 1].to_owned());
            }
            _ => {}
        }
    }
    (items, modules)
}

/// All `use`s, wherever they stand, and the tokens that are left without them.
pub(super) fn imports<'a>(tokens: &[&'a str]) -> (Vec<Import>, Vec<&'a str>) {
    let (mut imports, mut left) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == "use" {
            let end = at + tokens[at..].iter().position(|token| *token == ";").unwrap_or(tokens.len() - at);
            let is_public = is_public(&left);
            let mut tree = &tokens[at + 1..end];
            tree_imports(&mut tree, &mut Vec::new(), is_public, &mut imports);
            at = end;
        }
        left.extend(tokens.get(at));
        at += 1;
    }
    (imports, left)
}

fn is_public(before: &[&str]) -> bool {
    match before {
        [.., "pub"] => true,
        [.., ")"] => {
            let open = before.iter().rposition(|token| *token == "(");
            open.and_then(|open| open.checked_sub(1)).is_some_and(|place| before[place] == "pub")
        }
        _ => false,
    }
}

fn tree_imports(tree: &mut &[&str], path: &mut Vec<String>, is_public: bool, out: &mut Vec<Import>) {
    let depth = path.len();
    while let Some((token, rest)) = tree.split_first() {
        *tree = rest;
        match *token {
            "::" => {}
            "{" => {
                while !matches!(tree.first(), None | Some(&"}")) {
                    tree_imports(tree, path, is_public, out);
                }
                *tree = tree.get(1..).unwrap_or_default();
                path.truncate(depth);
                skip_comma(tree);
                return;
            }
            "," => break,
            word => path.push(word.to_owned()),
        }
        if matches!(tree.first(), Some(&"}")) {
            break;
        }
    }
    let mut own = path.clone();
    path.truncate(depth);
    let name = match own.iter().position(|word| word == "as") {
        Some(place) => own.split_off(place).pop(),
        None => None,
    };
    if own.last().is_some_and(|last| last == "self") {
        own.pop();
    }
    if let Some(last) = own.last() {
        out.push(Import { name: name.unwrap_or_else(|| last.clone()), path: own, is_public });
    }
}

fn skip_comma(tree: &mut &[&str]) {
    if let Some((&",", rest)) = tree.split_first() {
        *tree = rest;
    }
}
