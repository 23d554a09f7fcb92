//! Patterns with wildcards, as Python's `fnmatch` has them: `*` stands for any characters, `?` for one, `[abc]`,
//! `[a-c]` and `[!abc]` for one of a set or none of it. A `[` without its `]` stands for itself.

/// Texts to compare with: plain ones and patterns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Patterns {
    plain: Vec<Box<str>>,
    patterns: Vec<Vec<Element>>,
}

/// An element of a pattern.
#[derive(Clone, Debug, PartialEq)]
enum Element {
    One(char),
    AnyOne,
    Any,
    Set { ranges: Vec<(char, char)>, is_negated: bool },
}

impl Patterns {
    /// Returns the patterns of these texts.
    pub(super) fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut patterns = Patterns::default();
        for text in texts {
            match text.contains(['*', '?', '[']) {
                true => patterns.patterns.push(elements(text)),
                false => patterns.plain.push(text.into()),
            }
        }
        patterns.plain.sort_unstable();
        patterns.plain.dedup();
        patterns
    }

    /// Returns whether any of the patterns stands for the text.
    pub(super) fn contain(&self, text: &str) -> bool {
        self.plain.binary_search_by(|plain| (**plain).cmp(text)).is_ok()
            || self.patterns.iter().any(|pattern| matches(pattern, text))
    }
}

fn elements(pattern: &str) -> Vec<Element> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut elements = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let (element, len) = match chars[at] {
            '*' => (Element::Any, 1),
            '?' => (Element::AnyOne, 1),
            '[' => set(&chars[at..]).unwrap_or((Element::One('['), 1)),
            other => (Element::One(other), 1),
        };
        elements.push(element);
        at += len;
    }
    elements
}

/// Reads a set such as `[a-c]` at the beginning of `chars`; returns it and its length. `None` if it has no end.
fn set(chars: &[char]) -> Option<(Element, usize)> {
    let is_negated = chars.get(1) == Some(&'!');
    let first = 1 + usize::from(is_negated);
    // A `]` at the beginning belongs to the set.
    let end = (first + 1..chars.len()).find(|&at| chars[at] == ']')?;
    let mut rest = &chars[first..end];
    let mut ranges = Vec::new();
    while let [one, more @ ..] = rest {
        (ranges, rest) = match more {
            ['-', last, more @ ..] => (with(ranges, *one, *last), more),
            _ => (with(ranges, *one, *one), more),
        };
    }
    Some((Element::Set { ranges, is_negated }, end + 1))
}

fn with(mut ranges: Vec<(char, char)>, first: char, last: char) -> Vec<(char, char)> {
    ranges.push((first, last));
    ranges
}

/// Returns whether a pattern stands for a text, in at most `pattern.len() * text.len()` steps.
fn matches(pattern: &[Element], text: &str) -> bool {
    let mut rest = text.chars();
    let mut at = 0;
    // After the last `*`: its place, and the text from where another character could be given to it.
    let mut last_any: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        if let Some(Element::Any) = pattern.get(at) {
            at += 1;
            last_any = Some((at, rest.clone()));
            continue;
        }
        let before = rest.clone();
        let fits = match (pattern.get(at), rest.next()) {
            (None, None) => return true,
            (Some(element), Some(c)) => stands_for(element, c),
            _ => false,
        };
        if fits {
            at += 1;
            continue;
        }
        if before.as_str().is_empty() {
            // No text is left for the elements after the last `*`, however little is given to it.
            return false;
        }
        match &mut last_any {
            Some((after, from)) => {
                from.next();
                (at, rest) = (*after, from.clone());
            }
            None => return false,
        }
    }
}

fn stands_for(element: &Element, c: char) -> bool {
    match element {
        Element::One(one) => *one == c,
        Element::AnyOne => true,
        Element::Any => unreachable!("handled by the caller"),
        Element::Set { ranges, is_negated } => {
            ranges.iter().any(|&(first, last)| (first..=last).contains(&c)) != *is_negated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn contains(pattern: &str, text: &str) -> bool {
        Patterns::new([pattern].into_iter()).contain(text)
    }

    #[test]
    fn wildcards_and_sets_follow_fnmatch() {
        for (pattern, yes, no) in [
            ("C*", &["C", "CA", "C*"][..], &["", "AC"][..]),
            ("?A", &["CA", "éA"], &["A", "CCA"]),
            ("C[AB]", &["CA", "CB"], &["C", "CC", "CAB"]),
            ("C[!AB]", &["CC", "C!"], &["CA", "C"]),
            ("C[A-D]", &["CA", "CD"], &["CE", "C-"]),
            ("[]A]", &["]", "A"], &["[]A]"]),
            ("[!]A]", &["B"], &["]", "A"]),
            ("[!]", &["[!]"], &["a"]),
            ("[", &["["], &[""]),
            ("C[", &["C["], &["C"]),
            ("[a-]", &["a", "-"], &["b"]),
            ("[-a]", &["a", "-"], &["b"]),
            ("[c-a]", &[], &["a", "b", "c", "-"]),
            ("[!c-a]", &["a", "b"], &[""]),
            ("[a-c-e]", &["b", "-", "e"], &["d"]),
            ("[^a]", &["^", "a"], &["b"]),
            ("H*1*", &["H1", "HB1", "HB12"], &["HB2"]),
            ("*", &["", "x"], &[]),
            ("**a", &["a", "ba"], &["ab"]),
        ] {
            assert!(yes.iter().all(|text| contains(pattern, text)), "{pattern}");
            assert!(!no.iter().any(|text| contains(pattern, text)), "{pattern}");
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        assert!(!contains(&"*a".repeat(1000), &"b".repeat(1000)));
        assert!(!contains(&format!("{}b", "*a".repeat(500)), &"a".repeat(1000)));
    }

    /// The definition, by recursion.
    fn naive(pattern: &[Element], text: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            [Element::Any, rest @ ..] => (0..=text.len()).any(|n| naive(rest, &text[n..])),
            [element, rest @ ..] => {
                text.first().is_some_and(|&c| stands_for(element, c)) && naive(rest, &text[1..])
            }
        }
    }

    proptest! {
        #[test]
        fn matches_equal_the_recursive_definition(
            pattern in "[ab*?]{0,6}|[ab*?\\[\\]!-]{0,8}", text in "[ab-]{0,8}"
        ) {
            let chars: Vec<char> = text.chars().collect();
            let elements = elements(&pattern);
            prop_assert_eq!(matches(&elements, &text), naive(&elements, &chars));
        }
    }
}
