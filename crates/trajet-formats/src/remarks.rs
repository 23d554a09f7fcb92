//! Remarks on the source of a copy, which are stored with the copy and stay with its numbers.
//!
//! DCD stores remarks in title lines, NetCDF and H5MD in an attribute, a store in the manifest of a data
//! set. XTC and TRR have no room for any. Files are not trusted: a remark is one line without control
//! characters, and number and length are limited. The text of a remark does not change when it is copied
//! several times, so that none is stored twice.

/// Name of the attribute that stores remarks: an attribute of the file (NetCDF) or of its root group (H5MD).
pub const ATTRIBUTE: &str = "trajet_remarks";
/// Largest number of remarks that a copy stores.
pub const MOST: usize = 16;
/// Largest number of bytes of a remark.
pub const LONGEST: usize = 480;
/// Largest number of bytes of [`text`].
pub const LONGEST_TEXT: usize = MOST * (LONGEST + 1);
/// Prefix of a remark on the source of a copy.
pub const OF_SOURCE: &str = "of its source: ";
/// Replaces the last remark if there were more than [`MOST`].
const FURTHER: &str = "there were further remarks, for which the copy had no room";
/// Lowest XTC precision, in steps per nm, that needs no remark: the default of GROMACS.
const USUAL_PRECISION: f32 = 1000.0;
/// Bytes of a DCD title.
const TITLE: usize = 80;
/// Prefixes of the first title of a remark and of the following titles of the same remark.
const TITLES: [&[u8]; 2] = [b"trajet remark: ", b"trajet    ...: "];

/// Returns the remark as one line of at most [`LONGEST`] bytes, with control and direction characters escaped.
pub fn line(remark: &str) -> String {
    let mut line = String::new();
    // The length to which the line is cut if it becomes too long.
    let mut cut = 0;
    for c in remark.trim().chars() {
        match c {
            '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {
                line.extend(c.escape_unicode());
            }
            _ if c.is_control() => line.extend(c.escape_unicode()),
            _ => line.push(c),
        }
        if line.len() > LONGEST {
            line.truncate(cut);
            line.push('…');
            return line;
        }
        if line.len() + '…'.len_utf8() <= LONGEST {
            cut = line.len();
        }
    }
    line
}

/// Returns the remarks that a copy stores: each once, as [`line()`] formats it, at most [`MOST`].
pub fn kept<S: AsRef<str>>(remarks: impl IntoIterator<Item = S>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for remark in remarks {
        let line = line(remark.as_ref());
        if line.is_empty() || kept.contains(&line) {
            continue;
        }
        if kept.len() == MOST {
            kept[MOST - 1] = FURTHER.to_owned();
            break;
        }
        kept.push(line);
    }
    kept
}

/// Returns the remarks as the value of [`ATTRIBUTE`], one per line; `None` if there are no remarks.
pub fn text(remarks: &[String]) -> Option<String> {
    let kept = kept(remarks);
    (!kept.is_empty()).then(|| kept.join("\n"))
}

/// Returns the remarks in a value of [`ATTRIBUTE`]. Bytes past the first [`LONGEST_TEXT`] are ignored.
pub fn of_text(text: &str) -> Vec<String> {
    let mut end = text.len().min(LONGEST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    kept(text[..end].lines().take(MOST + 1))
}

/// Returns the remarks as concatenated DCD titles of [`TITLE`] ASCII characters each.
pub(crate) fn titles(remarks: &[String]) -> Vec<u8> {
    let mut titles = Vec::new();
    for remark in kept(remarks) {
        let ascii: Vec<u8> = remark
            .chars()
            .flat_map(|c| {
                if c.is_ascii() { c.to_string() } else { c.escape_unicode().to_string() }
                    .into_bytes()
            })
            .collect();
        for (k, piece) in ascii.chunks(TITLE - TITLES[0].len()).enumerate() {
            let end = titles.len() + TITLE;
            titles.extend_from_slice(TITLES[k.min(1)]);
            titles.extend_from_slice(piece);
            titles.resize(end, b' ');
        }
    }
    titles
}

/// Returns the remarks among DCD titles of 80 bytes each.
pub fn of_titles(titles: &[u8]) -> Vec<String> {
    let mut remarks: Vec<Vec<u8>> = Vec::new();
    let mut is_open = false;
    for title in titles.as_chunks::<TITLE>().0 {
        if let Some(begin) = title.strip_prefix(TITLES[0]) {
            if remarks.len() > MOST {
                break;
            }
            remarks.push(begin.to_vec());
            is_open = true;
        } else if let Some(more) = title.strip_prefix(TITLES[1])
            && let Some(last) = remarks.last_mut().filter(|_| is_open)
        {
            // The escape of a two-byte character takes up to ten bytes.
            if last.len() < 10 * LONGEST {
                last.extend_from_slice(more);
            }
        } else {
            is_open = false;
        }
    }
    kept(remarks.iter().map(|remark| unescaped(&String::from_utf8_lossy(remark))))
}

/// Replaces the escapes `\u{…}` of non-ASCII characters by the characters.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once("\\u{") {
        plain.push_str(before);
        let found = escape.split_once('}').filter(|(digits, _)| digits.len() <= 6);
        let found = found.and_then(|(digits, behind)| {
            let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            (!c.is_ascii()).then_some((c, behind))
        });
        rest = match found {
            Some((c, behind)) => {
                plain.push(c);
                behind
            }
            None => {
                plain.push_str("\\u{");
                escape
            }
        };
    }
    plain + rest
}

/// Returns the remark on positions that are rounded to `precision` steps per nm; `None` if that is fine enough.
pub fn rounded(precision: f32) -> Option<String> {
    (precision < USUAL_PRECISION).then(|| {
        let step = 10.0 / precision;
        let half = step / 2.0;
        format!("positions are rounded to {step} Å (precision {precision}): up to {half} Å off")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(all: &[&str]) -> Vec<String> {
        all.iter().map(|&one| one.to_owned()).collect()
    }

    #[test]
    fn remarks_come_back_from_text_and_titles() {
        let long = "times overlap at 1 of 1 file boundaries, ".repeat(9);
        let remarks = strings(&["0.5 Å off", "file α…β.xtc:  two  spaces", long.trim()]);
        assert_eq!(of_text(&text(&remarks).unwrap()), remarks);
        let titles = titles(&remarks);
        assert!(titles.is_ascii() && titles.len().is_multiple_of(80));
        assert_eq!(of_titles(&titles), remarks);
        assert_eq!(text(&[]), None);
        assert_eq!(of_titles(b"Created by trajet"), Vec::<String>::new());
    }

    #[test]
    fn untrusted_remarks_become_bounded_lines_without_control_characters() {
        let hostile = "\u{1b}[2Jx\u{7}\n\r\u{202e}y\u{9b}";
        let line = line(hostile);
        assert_eq!(line, "\\u{1b}[2Jx\\u{7}\\u{a}\\u{d}\\u{202e}y\\u{9b}");
        assert_eq!(super::line(&line), line);
        assert_eq!(
            unescaped(&line),
            line.replace("\\u{202e}", "\u{202e}").replace("\\u{9b}", "\u{9b}")
        );
        // Escaped control characters in titles stay escaped.
        let titles = titles(&strings(&[&line]));
        assert_eq!(of_titles(&titles), [line]);

        let long = "å".repeat(10_000);
        let cut = super::line(&long);
        assert!(cut.len() <= LONGEST && cut.ends_with('…'));
        assert_eq!(super::line(&cut), cut);
        let many: Vec<String> = (0..100).map(|k| format!("remark {k}")).collect();
        let all = kept(&many);
        assert_eq!((all.len(), &all[MOST - 1][..]), (MOST, FURTHER));
        assert_eq!(kept(&all), all);
        assert_eq!(of_text(&"\n".repeat(1 << 20)), Vec::<String>::new());
        assert_eq!(kept(["a", " a ", "b", "a"]), ["a", "b"]);
    }

    #[test]
    fn untrusted_titles_are_bounded() {
        let mut titles = Vec::new();
        for k in 0..100 {
            titles.extend(format!("{:80}", format!("trajet remark: {k}")).bytes());
            for _ in 0..1000 {
                titles.extend(format!("{:80}", "trajet    ...: more").bytes());
            }
        }
        let remarks = of_titles(&titles);
        assert_eq!(remarks.len(), MOST);
        assert!(remarks.iter().all(|remark| remark.len() <= LONGEST));
        // A continuation without a first title is not a remark.
        let alone = format!("{:80}{:80}", "trajet    ...: more", "Created by another program");
        assert_eq!(of_titles(alone.as_bytes()), Vec::<String>::new());
    }

    #[test]
    fn only_precisions_below_the_default_are_remarked() {
        assert_eq!(rounded(1000.0), None);
        let words = "positions are rounded to 1 Å (precision 10): up to 0.5 Å off";
        assert_eq!(rounded(10.0).as_deref(), Some(words));
    }
}
