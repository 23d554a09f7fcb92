//! What hosts call. The only unsafe code beside `trajet-simd`.
//!
//! Source: the interface as it is published, <https://www.ks.uiuc.edu/Research/vmd/plugins/doxygen/>. A host takes
//! plug-ins of its own version of the interface alone, and has them in a table that grew in the middle:
//! VMD 1.9.3 has version 17, 1.9.4 has 18, older ones 16. So all three are offered, the newest first, until the
//! host takes one. Hosts write into what is registered (where messages go to), so that it lies in memory
//! that can be written.

use std::cell::UnsafeCell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr;

use crate::cursor::{Cursor, say};
use crate::error::Error;

const SUCCESS: c_int = 0;
const ERROR: c_int = -1;
/// The interface has one number for the end and for errors.
const EOF: c_int = -1;

type OpenFileRead = unsafe extern "C" fn(*const c_char, *const c_char, *mut c_int) -> *mut c_void;
type ReadNextTimestep = unsafe extern "C" fn(*mut c_void, c_int, *mut Timestep) -> c_int;
type CloseFileRead = unsafe extern "C" fn(*mut c_void);
type ReadTimestepMetadata = unsafe extern "C" fn(*mut c_void, *mut TimestepMetadata) -> c_int;
type Register = unsafe extern "C" fn(*mut c_void, *mut Plugin) -> c_int;
/// A function that this plug-in does not have.
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
    /// From here on versions differ. Of what follows this plug-in has [`metadata_place`] alone.
    rest: [Option<ReadTimestepMetadata>; 15],
}

/// Where `read_timestep_metadata` stands in [`Plugin::rest`]: version 17 put two functions of volumes
/// before it, 18 one that asks how frames are aligned.
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
            // Some hosts know types by their endings alone.
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

/// A plug-in in memory that hosts may write to.
#[repr(transparent)]
struct Registered(UnsafeCell<Plugin>);

// SAFETY: nobody but the host reads or writes a plug-in once it is made.
unsafe impl Sync for Registered {}

/// The file types in one version of the interface.
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

/// Called first.
#[unsafe(no_mangle)]
extern "C" fn vmdplugin_init() -> c_int {
    SUCCESS
}

/// Gives the file types to the host.
#[unsafe(no_mangle)]
unsafe extern "C" fn vmdplugin_register(host: *mut c_void, callback: Option<Register>) -> c_int {
    guarded(ERROR, || {
        let register = callback.ok_or(Error::Missing("function that takes plug-ins"))?;
        // SAFETY: the host gave both for this call; a plug-in stays where it is as long as the library.
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
        // SAFETY: not null, and a text that ends with a zero, as the interface says.
        let path = unsafe { CStr::from_ptr(path) };
        let cursor = Cursor::open(Path::new(OsStr::from_bytes(path.to_bytes())))?;
        // SAFETY: not null, and the host's place for a number; opening has checked that it fits.
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
        // SAFETY: not null, and the host's place for this, as the interface says.
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
        // SAFETY: not null, and a frame whose places the host has set, as the interface says.
        let (coords, velocities) = unsafe { ((*timestep).coords, (*timestep).velocities) };
        let len = 3 * cursor.n_atoms();
        // SAFETY: the host has made room for as many atoms as it asks for, which are those of the file.
        let coords = unsafe { floats(coords, len) }.ok_or(Error::Missing("place for positions"))?;
        // SAFETY: as above; it is null where the host wants none.
        let velocities = unsafe { floats(velocities, len) };
        let frame = cursor.read(coords, velocities)?;
        let none = frame.cell.iter().any(|x| x.is_nan());
        let cell = if none { [0.0, 0.0, 0.0, 90.0, 90.0, 90.0] } else { frame.cell };
        let [a, b, c, alpha, beta, gamma] = cell.map(|x| x as f32);
        // SAFETY: as above; only numbers of the frame are written, what else it holds stays.
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
            // SAFETY: made by `open_file_read` from a box, and the host does not use it any more.
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

/// Memory of the host as numbers. It may never have been written to, and becomes zeros.
///
/// # Safety
/// The place is null or has room for so many numbers, which nobody else uses during the call.
unsafe fn floats<'a>(place: *mut f32, len: usize) -> Option<&'a mut [f32]> {
    if place.is_null() {
        return None;
    }
    // SAFETY: as this function's caller promises; all bits zero are a number.
    unsafe {
        place.write_bytes(0, len);
        Some(std::slice::from_raw_parts_mut(place, len))
    }
}

/// Nothing unwinds into a host, and every error is printed: hosts take any for the end.
fn guarded<T>(otherwise: T, work: impl FnOnce() -> Result<T, Error>) -> T {
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Error::Panicked));
    done.unwrap_or_else(|error| {
        say(format_args!("{error}"));
        otherwise
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_stays_here() {
        assert_eq!(guarded(ERROR, || panic!("on purpose")), ERROR);
        assert_eq!(guarded(ERROR, || Err(Error::Panicked)), ERROR);
        assert_eq!(guarded(ERROR, || Ok(SUCCESS)), SUCCESS);
    }

    #[test]
    fn what_a_host_forgets_is_an_error() {
        let (null, mut n_atoms) = (ptr::null_mut(), 0);
        let frame = ptr::null_mut();
        // SAFETY: null is looked at by each of them.
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
    fn a_host_that_takes_nothing_gets_an_error() {
        unsafe extern "C" fn refuse(count: *mut c_void, _: *mut Plugin) -> c_int {
            // SAFETY: the number below.
            unsafe { *count.cast::<usize>() += 1 };
            -1
        }
        let mut count = 0usize;
        // SAFETY: the function takes this number.
        let status = unsafe { vmdplugin_register((&raw mut count).cast(), Some(refuse)) };
        assert_eq!((status, count), (ERROR, 6));
    }
}
