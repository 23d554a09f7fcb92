//! The C interface for hosts.
//!
//! Source: the published interface, <https://www.ks.uiuc.edu/Research/vmd/plugins/doxygen/>. A host accepts plug-ins of
//! its own interface version only, and the table of functions grew in the middle: VMD 1.9.4 has version 18, 1.9.3 has
//! 17, older ones have 16. All three are therefore offered, the newest first, until the host accepts one. Hosts write
//! to the registered table (the message callback), so it lies in writable memory.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr;

use crate::cursor::{Cursor, print_line};
use crate::error::Error;

const SUCCESS: c_int = 0;
const ERROR: c_int = -1;
/// The interface does not distinguish the end of the file from errors.
const EOF: c_int = -1;

type OpenFileRead = unsafe extern "C" fn(*const c_char, *const c_char, *mut c_int) -> *mut c_void;
type ReadNextTimestep = unsafe extern "C" fn(*mut c_void, c_int, *mut Timestep) -> c_int;
type CloseFileRead = unsafe extern "C" fn(*mut c_void);
type ReadTimestepMetadata = unsafe extern "C" fn(*mut c_void, *mut TimestepMetadata) -> c_int;
type Register = unsafe extern "C" fn(*mut c_void, *mut Plugin) -> c_int;
/// A function that this plug-in does not provide.
type Absent = Option<unsafe extern "C" fn()>;

/// `molfile_plugin_t`.
#[repr(C)]
struct Plugin {
    abi_version: c_int,
    kind: *const c_char,
    name: *const c_char,
    pretty_name: *const c_char,
    author: *const c_char,
    major_version: c_int,
    minor_version: c_int,
    is_reentrant: c_int,
    filename_extension: *const c_char,
    open_file_read: Option<OpenFileRead>,
    read_structure: Absent,
    read_bonds: Absent,
    read_next_timestep: Option<ReadNextTimestep>,
    close_file_read: Option<CloseFileRead>,
    open_file_write: Absent,
    write_structure: Absent,
    write_timestep: Absent,
    close_file_write: Absent,
    read_volumetric_metadata: Absent,
    read_volumetric_data: Absent,
    /// From here on versions differ. This plug-in sets only the entry at [`metadata_place`].
    rest: [Option<ReadTimestepMetadata>; 15],
}

/// Index of `read_timestep_metadata` in [`Plugin::rest`]. Version 17 inserted two volumetric functions before it,
/// version 18 one that queries page alignment.
const fn metadata_place(abi_version: c_int) -> usize {
    match abi_version {
        ..=16 => 9,
        17 => 11,
        18.. => 12,
    }
}

impl Plugin {
    const fn new(abi_version: c_int, name: &'static CStr, pretty_name: &'static CStr) -> Plugin {
        let mut rest = [None; 15];
        rest[metadata_place(abi_version)] = Some(read_timestep_metadata as ReadTimestepMetadata);
        Plugin {
            abi_version,
            kind: c"mol file reader".as_ptr(),
            name: name.as_ptr(),
            pretty_name: pretty_name.as_ptr(),
            author: c"the trajet project".as_ptr(),
            major_version: number(env!("CARGO_PKG_VERSION_MAJOR")),
            minor_version: number(env!("CARGO_PKG_VERSION_MINOR")),
            is_reentrant: 1,
            // Some hosts identify types by suffix only.
            filename_extension: name.as_ptr(),
            open_file_read: Some(open_file_read),
            read_structure: None,
            read_bonds: None,
            read_next_timestep: Some(read_next_timestep),
            close_file_read: Some(close_file_read),
            open_file_write: None,
            write_structure: None,
            write_timestep: None,
            close_file_write: None,
            read_volumetric_metadata: None,
            read_volumetric_data: None,
            rest,
        }
    }
}

const fn number(digits: &str) -> c_int {
    match c_int::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => panic!("cargo's versions are numbers"),
    }
}

/// A plug-in table that hosts may write to.
#[repr(transparent)]
struct Registered(UnsafeCell<Plugin>);

// SAFETY: only the host reads or writes a table once it is made.
unsafe impl Sync for Registered {}

/// Returns the file types for one version of the interface.
const fn types(abi_version: c_int) -> [Registered; 2] {
    let tag = Plugin::new(abi_version, c"tjt", c"trajet pointer to a tag of a store");
    let any = Plugin::new(abi_version, c"trajet", c"trajet: XTC, TRR, DCD, Amber NetCDF");
    [Registered(UnsafeCell::new(tag)), Registered(UnsafeCell::new(any))]
}

static PLUGINS: [[Registered; 2]; 3] = [types(18), types(17), types(16)];

/// `molfile_timestep_t`.
#[repr(C)]
struct Timestep {
    coords: *mut f32,
    velocities: *mut f32,
    a: f32,
    b: f32,
    c: f32,
    alpha: f32,
    beta: f32,
    gamma: f32,
    physical_time: f64,
}

/// `molfile_timestep_metadata_t`.
#[repr(C)]
struct TimestepMetadata {
    count: c_uint,
    avg_bytes_per_timestep: c_uint,
    has_velocities: c_int,
}

/// Entry point, called first.
#[unsafe(no_mangle)]
extern "C" fn vmdplugin_init() -> c_int {
    SUCCESS
}

/// Registers the file types with the host.
#[unsafe(no_mangle)]
unsafe extern "C" fn vmdplugin_register(host: *mut c_void, callback: Option<Register>) -> c_int {
    guarded(ERROR, || {
        let register = callback.ok_or(Error::Missing("function that takes plug-ins"))?;
        // SAFETY: the host passed both for this call; a table lives as long as the library.
        let taken = |plugin: &&Registered| unsafe { register(host, plugin.0.get()) } == SUCCESS;
        match PLUGINS.iter().any(|types| types.iter().filter(taken).count() > 0) {
            true => Ok(SUCCESS),
            false => Err(Error::Refused),
        }
    })
}

/// Called last.
#[unsafe(no_mangle)]
extern "C" fn vmdplugin_fini() -> c_int {
    SUCCESS
}

unsafe extern "C" fn open_file_read(
    path: *const c_char,
    _file_type: *const c_char,
    n_atoms: *mut c_int,
) -> *mut c_void {
    guarded(ptr::null_mut(), || {
        if path.is_null() || n_atoms.is_null() {
            return Err(Error::Missing("path, or no place for the number of atoms"));
        }
        // SAFETY: not null, and a zero-terminated string, as the interface guarantees.
        let path = unsafe { CStr::from_ptr(path) };
        let cursor = Cursor::open(Path::new(OsStr::from_bytes(path.to_bytes())))?;
        // SAFETY: not null, and the host's variable for the number; opening has checked that it fits.
        unsafe { n_atoms.write(cursor.n_atoms() as c_int) };
        Ok(Box::into_raw(Box::new(cursor)).cast())
    })
}

unsafe extern "C" fn read_timestep_metadata(
    handle: *mut c_void,
    metadata: *mut TimestepMetadata,
) -> c_int {
    guarded(ERROR, || {
        // SAFETY: as this function's caller promises.
        let cursor = unsafe { cursor_of(handle) }?;
        if metadata.is_null() {
            return Err(Error::Missing("place for what there is of frames"));
        }
        let counted = |n: u64| c_uint::try_from(n).unwrap_or(c_uint::MAX);
        let n_frames = cursor.n_frames() as u64;
        let value = TimestepMetadata {
            count: counted(n_frames),
            avg_bytes_per_timestep: counted(cursor.size() / n_frames.max(1)),
            has_velocities: c_int::from(cursor.has_velocities()),
        };
        // SAFETY: not null, and the host's variable, as the interface guarantees.
        unsafe { metadata.write(value) };
        Ok(SUCCESS)
    })
}

unsafe extern "C" fn read_next_timestep(
    handle: *mut c_void,
    n_atoms: c_int,
    timestep: *mut Timestep,
) -> c_int {
    guarded(ERROR, || {
        // SAFETY: as this function's caller promises.
        let cursor = unsafe { cursor_of(handle) }?;
        if !cursor.has_next(i64::from(n_atoms))? {
            return Ok(EOF);
        }
        if timestep.is_null() {
            cursor.skip();
            return Ok(SUCCESS);
        }
        // SAFETY: not null, and a frame whose pointers the host has set, as the interface guarantees.
        let (coords, velocities) = unsafe { ((*timestep).coords, (*timestep).velocities) };
        let len = 3 * cursor.n_atoms();
        // SAFETY: the host has allocated space for as many atoms as it asks for, which is the number in the file.
        let coords = unsafe { floats(coords, len) }.ok_or(Error::Missing("place for positions"))?;
        // SAFETY: as above; null if the host does not request velocities.
        let velocities = unsafe { floats(velocities, len) };
        let frame = cursor.read(coords, velocities)?;
        let none = frame.cell.iter().any(|x| x.is_nan());
        let cell = if none { [0.0, 0.0, 0.0, 90.0, 90.0, 90.0] } else { frame.cell };
        let [a, b, c, alpha, beta, gamma] = cell.map(|x| x as f32);
        // SAFETY: as above; only values of the frame are written, other fields keep theirs.
        unsafe {
            ((*timestep).a, (*timestep).b, (*timestep).c) = (a, b, c);
            ((*timestep).alpha, (*timestep).beta, (*timestep).gamma) = (alpha, beta, gamma);
            (*timestep).physical_time = frame.time;
        }
        Ok(SUCCESS)
    })
}

unsafe extern "C" fn close_file_read(handle: *mut c_void) {
    guarded((), || {
        if !handle.is_null() {
            // SAFETY: made from a box by `open_file_read`, and the host does not use it any more.
            drop(unsafe { Box::from_raw(handle.cast::<Cursor>()) });
        }
        Ok(())
    });
}

/// # Safety
/// The handle is null or one of [`open_file_read`] that is not closed, and no other call uses it now.
unsafe fn cursor_of<'a>(handle: *mut c_void) -> Result<&'a mut Cursor, Error> {
    // SAFETY: as this function's caller promises.
    unsafe { handle.cast::<Cursor>().as_mut() }.ok_or(Error::Missing("open file"))
}

/// Returns memory of the host as a slice, filled with zeros, as it may be uninitialised.
///
/// # Safety
/// The pointer is null or has room for `len` numbers, which are not used by others during the call.
unsafe fn floats<'a>(place: *mut f32, len: usize) -> Option<&'a mut [f32]> {
    if place.is_null() {
        return None;
    }
    // SAFETY: as this function's caller promises; all bits zero are a valid number.
    unsafe {
        place.write_bytes(0, len);
        Some(std::slice::from_raw_parts_mut(place, len))
    }
}

/// Runs `work`. Panics do not unwind into the host, and every error is printed, as hosts take any error for the end of
/// the file.
fn guarded<T>(otherwise: T, work: impl FnOnce() -> Result<T, Error>) -> T {
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Error::Panicked));
    done.unwrap_or_else(|error| {
        print_line(format_args!("{error}"));
        otherwise
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_does_not_reach_the_host() {
        assert_eq!(guarded(ERROR, || panic!("on purpose")), ERROR);
        assert_eq!(guarded(ERROR, || Err(Error::Panicked)), ERROR);
        assert_eq!(guarded(ERROR, || Ok(SUCCESS)), SUCCESS);
    }

    #[test]
    fn null_arguments_are_errors() {
        let (null, mut n_atoms) = (ptr::null_mut(), 0);
        let frame = ptr::null_mut();
        // SAFETY: each function checks for null.
        unsafe {
            assert!(open_file_read(ptr::null(), ptr::null(), &raw mut n_atoms).is_null());
            assert!(open_file_read(c"x".as_ptr(), ptr::null(), ptr::null_mut()).is_null());
            assert_eq!(read_timestep_metadata(null, ptr::null_mut()), ERROR);
            assert_eq!(read_next_timestep(null, 1, frame), ERROR);
            close_file_read(null);
            assert_eq!(vmdplugin_register(null, None), ERROR);
        }
    }

    #[test]
    fn a_host_that_refuses_plugins_gets_an_error() {
        unsafe extern "C" fn refuse(count: *mut c_void, _: *mut Plugin) -> c_int {
            // SAFETY: the pointer to `count` below.
            unsafe { *count.cast::<usize>() += 1 };
            -1
        }
        let mut count = 0usize;
        // SAFETY: the callback takes this pointer.
        let status = unsafe { vmdplugin_register((&raw mut count).cast(), Some(refuse)) };
        assert_eq!((status, count), (ERROR, 6));
    }
}
