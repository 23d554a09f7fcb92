//! Tests which headers are accepted, reported or refused.

use super::*;

fn error_of(bytes: &[u8]) -> String {
    match open(&on_disk(bytes).path, &without_sidecar(), &Serial) {
        Ok(_) => panic!("was opened"),
        Err(error) => error.to_string(),
    }
}

/// Returns the file with the first `old` replaced by `new`, which has the same length.
fn changed(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let at = bytes.windows(old.len()).position(|window| window == old).expect("it is there");
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

/// Returns the texts of the messages on a file, which all have this code.
fn texts_of(reader: &dyn Reader, code: Code) -> String {
    let messages = reader.messages();
    assert!(messages.iter().all(|message| message.code == code), "{messages:?}");
    messages.into_iter().map(|message| message.text).collect()
}

#[test]
fn a_wrong_number_of_frames_in_the_header_is_a_message() {
    let opened = |claimed: i64, more: usize| {
        let (mut bytes, _) = Drawn { claimed: Some(claimed), ..PLAIN }.write();
        bytes.resize(bytes.len() + more, 0);
        let options = OpenOptions { allow_truncated_tail: true, ..without_sidecar() };
        let reader = open(&on_disk(&bytes).path, &options, &Serial)?;
        let n_frames = reader.index().n_frames();
        Ok::<_, Error>((n_frames, reader.truncated_tail(), texts_of(&*reader, Code::FrameCount)))
    };
    assert_eq!(opened(3, 0).unwrap(), (3, 0, String::new()));
    let words =
        "the header says 2 frames, the file holds bytes for 3: those that the header says count";
    assert_eq!(opened(2, 0).unwrap(), (2, 0, words.to_owned()));
    let words = "behind the 3 frames of the header the file has 7 more bytes";
    assert_eq!(opened(3, 7).unwrap(), (3, 0, words.to_owned()));
    let words = "the header says 4 frames, the file holds 3: those that it holds count";
    assert_eq!(opened(4, 0).unwrap(), (3, 0, words.to_owned()));
    assert_eq!(opened(4, 7).unwrap(), (3, 7, words.to_owned()));
    assert_eq!(opened(-1, 7).unwrap(), (3, 7, String::new()));
    // The advice of the error that a file whose frames were never counted is.
    let words = "the header says 0 frames, the file holds 3: those that it holds count";
    assert_eq!(opened(0, 0).unwrap(), (3, 0, words.to_owned()));
    assert_eq!(opened(0, 7).unwrap(), (3, 7, words.to_owned()));
    let (bytes, _) = Drawn { claimed: Some(0), ..PLAIN }.write();
    let none = error_of(&bytes);
    assert!(none.contains("the header says 0 frames, the file holds bytes for 3"), "{none}");
    assert!(none.contains("allow_truncated_tail=True"), "{none}");
}

#[test]
fn files_of_other_conventions_are_named() {
    let (bytes, _) = PLAIN.write();
    let amber = b"CF-1.6, AMBER";
    let message = error_of(&changed(&bytes, amber, b"CF-1.6, AMBEX"));
    let words = "a NetCDF file with the Conventions \"CF-1.6, AMBEX\", not AMBER";
    assert!(message.contains(words), "{message}");
    // Variables of restart files have no dimension of frames.
    let message = error_of(&changed(&bytes, amber, b"AMBERRESTART\0"));
    assert!(message.contains("coordinates has the dimensions (\"frame\", "), "{message}");
    for (name, words) in [
        ("Conventions", "a NetCDF file that names no Conventions"),
        ("ConventionVersion", "a NetCDF file of Amber that names no ConventionVersion"),
    ] {
        let other = name.replace("Con", "Kon");
        let message = error_of(&changed(&bytes, name.as_bytes(), other.as_bytes()));
        assert!(message.contains(words), "{message}");
    }
    let message = error_of(b"CDF\x04\0\0\0\x01");
    assert!(message.contains("NetCDF file of a version that is not known"), "{message}");
    let message = error_of(b"\x89HDF\r\n\x1a\n");
    assert!(message.contains("NetCDF-4") && message.contains("nccopy -k nc6"), "{message}");
}

#[test]
fn unsupported_variables_are_named() {
    let all = Drawn {
        velocities: Some(Form { double: false, scale: Some(Scale::Double(20.455)) }),
        forces: Some(Form::PLAIN),
        ..PLAIN
    };
    let (bytes, _) = all.write();
    for (old, new, words) in [
        ("angstrom/picosecond", "nanometer/picosecon", "velocities is in \"nanometer/picosecon\""),
        ("kilocalorie/mole/angstrom", "kilojoule/mole/angstromss", "not in \"kilocalorie/mole/"),
        ("picosecond", "nanosecond", "time is in \"nanosecond\", not in \"picosecond\""),
        ("degree", "radian", "cell_angles is in \"radian\", not in \"degree\""),
        ("coordinates", "coordinatez", "there is no variable coordinates"),
        ("cell_angles", "cell_angler", "there are cell_lengths without cell_angles"),
        ("cell_angles", "coordinates", "two variables coordinates"),
        ("frame", "fromm", "there is no dimension frame"),
        ("atom", "adam", "there is no dimension atom"),
        ("spatial\0\0\0\0\x03", "spatial\0\0\0\0\x04", "begin before byte"),
        (
            "scale_factor\0\0\0\x06\0\0\0\x01",
            "scale_factor\0\0\0\x05\0\0\0\x02",
            "is not one float or double",
        ),
    ] {
        let message = error_of(&changed(&bytes, old.as_bytes(), new.as_bytes()));
        assert!(message.contains(words), "{message}");
    }
    // The dimension `frame` with a fixed length, and the variables of a record.
    let fixed = changed(&bytes, b"frame\0\0\0\0\0\0\0", b"frame\0\0\0\0\0\0\x07");
    assert!(error_of(&fixed).contains("the dimension frame has the fixed length 7"));
    // Coordinates with the dimensions (frame, spatial, atom).
    let swapped = changed(
        &bytes,
        b"coordinates\0\0\0\0\x03\0\0\0\0\0\0\0\x02\0\0\0\x01",
        b"coordinates\0\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\x02",
    );
    let words = "coordinates has the dimensions (\"frame\", \"spatial\", \"atom\")";
    assert!(error_of(&swapped).contains(words), "{}", error_of(&swapped));
    for factor in [0.0, f64::NAN, f64::INFINITY] {
        let form = Form { double: false, scale: Some(Scale::Double(factor)) };
        let (bytes, _) = Drawn { coordinates: form, ..PLAIN }.write();
        assert!(
            error_of(&bytes).contains("the scale_factor of coordinates is not one float or double")
        );
    }
}

#[test]
fn an_add_offset_attribute_is_refused() {
    let form = Form { double: true, scale: Some(Scale::Float(2.0)) };
    let (bytes, _) = Drawn { cell: Some([form; 2]), ..PLAIN }.write();
    // Rename an attribute: both names take twelve bytes, padding included.
    let message =
        error_of(&changed(&bytes, b"\0\0\0\x0cscale_factor", b"\0\0\0\x0aadd_offset\0\0"));
    assert!(message.contains("cell_lengths has an add_offset"), "{message}");
}

#[test]
fn other_versions_and_missing_units_are_messages() {
    let (bytes, _) = PLAIN.write();
    let texts = |bytes: &[u8], code| {
        texts_of(&*open(&on_disk(bytes).path, &without_sidecar(), &Serial).unwrap(), code)
    };
    let other = changed(&bytes, b"1.0", b"1.1");
    assert_eq!(
        texts(&other, Code::OtherVersion),
        "the file follows version \"1.1\" of Amber's convention: read as version 1.0"
    );
    let other = changed(&bytes, b"units", b"unitz");
    let words = "no units are given for time: taken as Amber's convention says";
    assert_eq!(texts(&other, Code::AssumedUnits), words);
}
