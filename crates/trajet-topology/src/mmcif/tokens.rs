//! The words of a CIF file (Hall, Allen and Brown, Acta Cryst. A47, 655 (1991), doi:10.1107/S010876739101067X; syntax
//! 1.1).

use crate::{Location, TopologyError};

/// A value of a table or of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Value<'a> {
    /// The text, without quotes.
    pub(super) text: &'a [u8],
    /// Whether it stands for no value: `.` or `?` without quotes.
    pub(super) is_null: bool,
}

/// A word of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// `data_NAME`: a block begins.
    Block,
    /// `loop_`: the tags of a table follow.
    Loop,
    /// `save_NAME` or `save_`: a frame of a dictionary begins or ends.
    Frame,
    /// `_category.item`.
    Tag(&'a [u8]),
    Value(Value<'a>),
}

/// Reads the words one after another.
#[derive(Clone, Debug)]
pub(super) struct Tokens<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Number of the line, from 1.
    line: u64,
    /// Offset of its first byte.
    line_start: usize,
    /// Whether a comment follows the last word.
    has_comment: bool,
    /// The place where the last word began.
    token_at: Location,
    /// A word that was read ahead.
    ahead: Option<Option<Token<'a>>>,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

impl<'a> Tokens<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let token_at = Location { line: 1, column: 1 };
        Tokens {
            bytes,
            position: 0,
            line: 1,
            line_start: 0,
            has_comment: false,
            token_at,
            ahead: None,
        }
    }

    /// Returns a fault at the last word.
    pub(super) fn fault(&self, reason: impl Into<String>) -> TopologyError {
        TopologyError::Malformed(self.token_at, reason.into())
    }

    /// Returns whether a comment stands behind the last word, once the end of the file is reached.
    pub(super) fn ends_with_comment(&self) -> bool {
        self.has_comment
    }

    /// Returns the line of the last word.
    pub(super) fn line(&self) -> u64 {
        self.token_at.line
    }

    /// Returns the next word without consuming it; `None` at the end of the file.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<Option<Token<'a>>, TopologyError> {
        match self.ahead {
            Some(token) => Ok(token),
            None => {
                let token = self.read()?;
                self.ahead = Some(token);
                Ok(token)
            }
        }
    }

    /// Returns the next word; `None` at the end of the file.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Token<'a>>, TopologyError> {
        match self.ahead.take() {
            Some(token) => Ok(token),
            None => self.read(),
        }
    }

    fn read(&mut self) -> Result<Option<Token<'a>>, TopologyError> {
        self.has_comment = false;
        self.skip_space();
        let column = (self.position - self.line_start) as u64 + 1;
        self.token_at = Location { line: self.line, column };
        let Some(&first) = self.bytes.get(self.position) else { return Ok(None) };
        let token = match first {
            b'\'' | b'"' => Token::Value(self.quoted(first)?),
            b';' if column == 1 => Token::Value(self.text_field()?),
            b'_' => Token::Tag(self.word()),
            _ => keyword_or_value(self.word()).map_err(|word| {
                self.fault(format!("{word} where a tag or a value was expected"))
            })?,
        };
        Ok(Some(token))
    }

    /// Skips spaces, line ends and comments.
    fn skip_space(&mut self) {
        while let Some(&byte) = self.bytes.get(self.position) {
            match byte {
                b'\n' => self.new_line(1),
                b'\r' if self.bytes.get(self.position + 1) == Some(&b'\n') => self.new_line(2),
                b'\r' => self.new_line(1),
                b' ' | b'\t' => self.position += 1,
                b'#' => {
                    self.has_comment = true;
                    let rest = &self.bytes[self.position..];
                    let end = rest.iter().position(|&byte| is_line_end(byte));
                    self.position += end.unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    fn new_line(&mut self, n_bytes: usize) {
        self.position += n_bytes;
        self.line += 1;
        self.line_start = self.position;
    }

    /// Reads until a space or a line end.
    fn word(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.position..];
        let n = rest.iter().position(|&byte| is_space(byte)).unwrap_or(rest.len());
        self.position += n;
        &rest[..n]
    }

    /// Reads a value in quotes. A quote ends it only before a space, so that `'5'-end'` is one value.
    fn quoted(&mut self, quote: u8) -> Result<Value<'a>, TopologyError> {
        let rest = &self.bytes[self.position + 1..];
        for (i, &byte) in rest.iter().enumerate() {
            let ends = byte == quote && rest.get(i + 1).is_none_or(|&next| is_space(next));
            if ends {
                self.position += i + 2;
                return Ok(Value { text: &rest[..i], is_null: false });
            }
            if is_line_end(byte) {
                break;
            }
        }
        Err(self.fault("a quoted value without an end on its line"))
    }

    /// Reads a value between lines that begin with a semicolon.
    fn text_field(&mut self) -> Result<Value<'a>, TopologyError> {
        let start = self.position + 1;
        self.position = start;
        loop {
            let rest = &self.bytes[self.position..];
            let Some(n) = rest.iter().position(|&byte| is_line_end(byte)) else {
                return Err(self.fault("a text field without a line of a semicolon at its end"));
            };
            let end = self.position + n;
            self.position = end;
            let n_bytes = 1 + usize::from(self.bytes[end..].starts_with(b"\r\n"));
            self.new_line(n_bytes);
            if self.bytes.get(self.position) == Some(&b';') {
                self.position += 1;
                return Ok(Value { text: &self.bytes[start..end], is_null: false });
            }
        }
    }
}

/// Returns what a word without quotes is; an error for reserved words that mmCIF does not have.
fn keyword_or_value(word: &[u8]) -> Result<Token<'_>, &'static str> {
    let starts = |prefix: &str| {
        word.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
    };
    // The last letters are rare in values: most words take one comparison.
    if word.contains(&b'_') {
        if starts("data_") {
            return Ok(Token::Block);
        }
        if word.eq_ignore_ascii_case(b"loop_") {
            return Ok(Token::Loop);
        }
        if starts("save_") {
            return Ok(Token::Frame);
        }
        if word.eq_ignore_ascii_case(b"stop_") {
            return Err("stop_");
        }
        if word.eq_ignore_ascii_case(b"global_") {
            return Err("global_");
        }
    }
    Ok(Token::Value(Value { text: word, is_null: word == b"." || word == b"?" }))
}
