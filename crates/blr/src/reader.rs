//! The bytes of a request with a place, and the errors that name it.

use farbird_types::{Error, Result, isc};

use crate::tree::{Context, Message};

/// Greatest depth of statements, conditions, values and joins within each other: every walk over a tree may recurse this deep,
/// and each level becomes several of SQL, which may have 200 (`farbird_sql::limits::DEPTH_MAX`).
pub const DEPTH_MAX: u32 = 40;

/// Takes a request's bytes from front to back.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
    depth: u32,
    /// Contexts that have been declared.
    contexts: [bool; 256],
    messages: Vec<Message>,
    /// Labels of the statements around.
    labels: Vec<u8>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader {
            bytes,
            offset: 0,
            depth: 0,
            contexts: [false; 256],
            messages: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// The next byte, which stays; 0 at the end.
    pub(crate) fn peek(&self) -> u8 {
        self.bytes.get(self.offset).copied().unwrap_or(0)
    }

    /// Passes the next byte over if it is this one.
    pub(crate) fn take_if(&mut self, code: u8) -> bool {
        let is_it = self.bytes.get(self.offset) == Some(&code);
        self.offset += usize::from(is_it);
        is_it
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.offset).ok_or_else(|| self.invalid())?;
        self.offset += 1;
        Ok(byte)
    }

    pub(crate) fn word(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }

    /// So many bytes as they are.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.slice(N)?;
        bytes.try_into().map_err(|_| self.invalid())
    }

    pub(crate) fn slice(&mut self, length: usize) -> Result<&'a [u8]> {
        let end = self.offset.checked_add(length).ok_or_else(|| self.invalid())?;
        let bytes = self.bytes.get(self.offset..end).ok_or_else(|| self.invalid())?;
        self.offset = end;
        Ok(bytes)
    }

    /// A name behind its length.
    pub(crate) fn name(&mut self) -> Result<String> {
        let length = usize::from(self.byte()?);
        let bytes = self.slice(length)?;
        let name = std::str::from_utf8(bytes).map_err(|_| self.invalid())?;
        Ok(name.trim_end_matches(' ').to_owned())
    }

    pub(crate) fn expect(&mut self, code: u8, wanted: &str) -> Result<()> {
        if self.take_if(code) { Ok(()) } else { Err(self.unexpected_next(wanted)) }
    }

    /// A context that a record source declares.
    ///
    /// # Errors
    /// `isc_ctxinuse`.
    pub(crate) fn declare_context(&mut self) -> Result<Context> {
        let context = self.byte()?;
        match self.contexts.get_mut(usize::from(context)) {
            Some(known) if !*known => *known = true,
            _ => return Err(self.invalid().and(isc::CTXINUSE)),
        }
        Ok(context)
    }

    /// A context that has been declared.
    ///
    /// # Errors
    /// `isc_ctxnotdef`.
    pub(crate) fn context(&mut self) -> Result<Context> {
        let context = self.byte()?;
        match self.contexts.get(usize::from(context)) {
            Some(true) => Ok(context),
            _ => Err(self.invalid().and(isc::CTXNOTDEF)),
        }
    }

    /// # Errors
    /// `isc_badmsgnum`: there is one of that number.
    pub(crate) fn declare_message(&mut self, message: Message) -> Result<()> {
        if self.declared(message.number).is_ok() {
            return Err(self.invalid().and(isc::BADMSGNUM));
        }
        self.messages.push(message);
        Ok(())
    }

    /// A message that has been declared.
    ///
    /// # Errors
    /// `isc_badmsgnum`.
    pub(crate) fn declared(&self, number: u8) -> Result<&Message> {
        let message = self.messages.iter().find(|message| message.number == number);
        message.ok_or_else(|| self.invalid().and(isc::BADMSGNUM))
    }

    pub(crate) fn into_messages(self) -> Vec<Message> {
        self.messages
    }

    /// Parses something that can be left under a label.
    pub(crate) fn labelled<T>(&mut self, label: u8, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.labels.push(label);
        let result = parse(self);
        self.labels.pop();
        result
    }

    pub(crate) fn is_label(&self, label: u8) -> bool {
        self.labels.contains(&label)
    }

    /// One level down.
    ///
    /// # Errors
    /// `isc_imp_exc`: too deep.
    pub(crate) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.nested_by(1, parse)
    }

    /// As [`Reader::nested`], so many levels.
    pub(crate) fn nested_by<T>(
        &mut self,
        levels: u32,
        parse: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if levels > DEPTH_MAX - self.depth {
            return Err(Error::new(isc::IMP_EXC).and(isc::RANDOM).with("a request is nested too deeply"));
        }
        self.depth += levels;
        let result = parse(self);
        self.depth -= levels;
        result
    }

    /// The request is wrong here.
    pub(crate) fn invalid(&self) -> Error {
        Error::new(isc::INVALID_BLR).with(i32::try_from(self.offset).unwrap_or(i32::MAX))
    }

    /// The byte that was taken last is none of those that may stand here.
    pub(crate) fn unexpected(&self, wanted: &str) -> Error {
        let at = self.offset.saturating_sub(1);
        let byte = self.bytes.get(at).copied().unwrap_or(0);
        let number = i32::try_from(at).unwrap_or(i32::MAX);
        Error::new(isc::INVALID_BLR)
            .with(number)
            .and(isc::SYNTAXERR)
            .with(wanted)
            .with(number)
            .with(i32::from(byte))
    }

    fn unexpected_next(&mut self, wanted: &str) -> Error {
        self.offset = self.offset.saturating_add(1);
        self.unexpected(wanted)
    }

    /// The byte that was taken last stands for something that requests are not offered.
    pub(crate) fn unsupported(&self) -> Error {
        let at = self.offset.saturating_sub(1);
        let byte = self.bytes.get(at).copied().unwrap_or(0);
        Error::new(isc::WISH_LIST)
            .and(isc::RANDOM)
            .with(format!("BLR code {byte} at offset {at} of a request"))
    }
}
