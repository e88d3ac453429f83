//! Reading `data/national-orders.txt`.
//!
//! A block of lines per order, `#` begins a comment:
//!
//! ```text
//! order PXW_CSY WIN1250
//! letters \00..\40 aA|áÁ|äÄ bB cC čČ dD ... h H {ch}{Ch}{CH} ...
//! specials \20 \00..\1F _ -
//! expand ßs
//! upper àA áA
//! lower Š_
//! french
//! ```
//!
//! Words are classes of letters in their order. Within one, `|` begins the next accent, `=` says that the next character
//! is the same as the one before; otherwise the next character is the next case. `{ch}` is a pair that is one letter.
//! `\HH` is a byte, `a..b` all bytes from one to the other that stand nowhere else in the block, each a class of its own.
//! `expand` names a character and the second letter it stands for. `upper` and `lower` are pairs of bytes whose case
//! mapping is not Unicode's.

use std::sync::OnceLock;

use super::{NationalOrder, Weight};
use crate::character_set::CharacterSet;

const TEXT: &str = include_str!("../../../data/national-orders.txt");

/// A block of the file, read when it is asked for.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) set: CharacterSet,
    lines: Vec<&'static str>,
    order: OnceLock<NationalOrder>,
}

impl Entry {
    pub(super) fn order(&self) -> &NationalOrder {
        self.order.get_or_init(|| Reader::new(self.set).read(&self.lines))
    }
}

/// All orders.
pub(super) fn orders() -> &'static [Entry] {
    static ORDERS: OnceLock<Vec<Entry>> = OnceLock::new();
    ORDERS.get_or_init(|| {
        let mut entries: Vec<Entry> = Vec::new();
        for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            match (words.next(), words.next(), words.next()) {
                (Some("order"), Some(name), Some(set)) => {
                    if let Some(set) = CharacterSet::by_name(set) {
                        entries.push(Entry { name, set, lines: Vec::new(), order: OnceLock::new() });
                    }
                }
                _ => {
                    if let Some(entry) = entries.last_mut() {
                        entry.lines.push(line);
                    }
                }
            }
        }
        entries
    })
}

/// A part of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Item {
    Byte(u8),
    Pair([u8; 2]),
    NextAccent,
    Same,
}

struct Reader {
    set: CharacterSet,
}

impl Reader {
    fn new(set: CharacterSet) -> Reader {
        Reader { set }
    }

    fn read(&self, lines: &[&str]) -> NationalOrder {
        let mut order = NationalOrder {
            weights: [Weight::default(); 256],
            expansions: Vec::new(),
            contractions: Vec::new(),
            specials: 0,
            french: false,
            capitals: Vec::new(),
            smalls: Vec::new(),
            canonical: Default::default(),
        };
        let named = self.named(lines);
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "letters" => {
                    for (place, class) in self.classes(rest, &named).iter().enumerate() {
                        place_class(&mut order, place, class, false);
                    }
                }
                "specials" => {
                    let classes = self.classes(rest, &named);
                    for (place, class) in classes.iter().enumerate() {
                        place_class(&mut order, place, class, true);
                    }
                    order.specials = u8::try_from(classes.len()).unwrap_or(u8::MAX);
                }
                "expand" => order.expansions = self.pairs(rest),
                "upper" => order.capitals = self.pairs(rest),
                "lower" => order.smalls = self.pairs(rest),
                "french" => order.french = true,
                _ => {}
            }
        }
        order
    }

    /// The bytes that are written out, not in a range.
    fn named(&self, lines: &[&str]) -> Vec<u8> {
        let words = lines
            .iter()
            .filter(|line| line.starts_with("letters ") || line.starts_with("specials "))
            .flat_map(|line| line.split_whitespace().skip(1));
        words
            .filter(|word| range(word).is_none())
            .flat_map(|word| self.items(word))
            .filter_map(|item| match item {
                Item::Byte(byte) => Some(byte),
                _ => None,
            })
            .collect()
    }

    fn classes(&self, text: &str, named: &[u8]) -> Vec<Vec<Item>> {
        let mut classes = Vec::new();
        for word in text.split_whitespace() {
            match range(word) {
                Some((first, last)) => {
                    let byte = |text: &str| match self.items(text).first() {
                        Some(Item::Byte(byte)) => *byte,
                        _ => 0,
                    };
                    let bytes = (byte(first)..=byte(last)).filter(|byte| !named.contains(byte));
                    classes.extend(bytes.map(|byte| vec![Item::Byte(byte)]));
                }
                None => classes.push(self.items(word)),
            }
        }
        classes
    }

    fn pairs(&self, text: &str) -> Vec<(u8, u8)> {
        text.split_whitespace()
            .filter_map(|word| match self.items(word).as_slice() {
                [Item::Byte(from), Item::Byte(to)] => Some((*from, *to)),
                _ => None,
            })
            .collect()
    }

    fn items(&self, word: &str) -> Vec<Item> {
        let mut items = Vec::new();
        let mut characters = word.chars();
        let mut pair: Option<Vec<u8>> = None;
        while let Some(character) = characters.next() {
            match character {
                '|' => items.push(Item::NextAccent),
                '=' => items.push(Item::Same),
                '{' => pair = Some(Vec::new()),
                '}' => {
                    if let Some([first, second]) = pair.take().as_deref() {
                        items.push(Item::Pair([*first, *second]));
                    }
                }
                _ => {
                    let byte = match character {
                        '\\' => {
                            let mut digit =
                                || characters.next().and_then(|digit| digit.to_digit(16)).unwrap_or(0);
                            u8::try_from(digit() * 16 + digit()).unwrap_or(0)
                        }
                        _ => self
                            .set
                            .encode(character.encode_utf8(&mut [0; 4]))
                            .ok()
                            .and_then(|bytes| bytes.first().copied())
                            .unwrap_or(0),
                    };
                    match &mut pair {
                        Some(pair) => pair.push(byte),
                        None => items.push(Item::Byte(byte)),
                    }
                }
            }
        }
        items
    }
}

fn range(word: &str) -> Option<(&str, &str)> {
    word.split_once("..").filter(|(first, last)| !first.is_empty() && !last.is_empty())
}

fn place_class(order: &mut NationalOrder, place: usize, class: &[Item], special: bool) {
    let mut weight =
        Weight { primary: u8::try_from(place).unwrap_or(u8::MAX), secondary: 0, tertiary: 0, special };
    let mut next = weight;
    for item in class {
        match item {
            Item::NextAccent => next = Weight { secondary: weight.secondary + 1, tertiary: 0, ..weight },
            Item::Same => next = weight,
            Item::Byte(byte) => {
                weight = next;
                if let Some(slot) = order.weights.get_mut(usize::from(*byte)) {
                    *slot = weight;
                }
                next = Weight { tertiary: weight.tertiary + 1, ..weight };
            }
            Item::Pair(pair) => {
                weight = next;
                order.contractions.push((*pair, weight));
                next = Weight { tertiary: weight.tertiary + 1, ..weight };
            }
        }
    }
}
