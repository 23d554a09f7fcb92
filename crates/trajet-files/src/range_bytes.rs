//! What a client of a storage service implements to have its objects read: one request for a range of bytes, which may
//! wait and fail.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use trajet_formats::Message;

/// Reason why a range of an object was not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteFault {
    /// Another object has taken its place.
    Replaced,
    /// The caller cancelled the request.
    Interrupted,
    /// There is no such object. The text says what the service answered.
    Missing(String),
    /// Access is denied, or credentials have expired; with advice.
    Denied(String),
    /// The service cannot or does not answer the request; with advice.
    Failed(String),
}

/// An object in remote storage. Its bytes must never change: an implementation ties each read to the ETag.
pub trait RangeBytes: Send + Sync + Debug {
    /// Returns the size in bytes.
    fn len(&self) -> u64;

    /// Returns the name of the object; `None` if that is the path under which it is opened.
    fn name(&self) -> Option<PathBuf> {
        None
    }

    /// Returns whether the object has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a text that differs for all objects and contents with this name, such as a strong ETag; `None` if there is
    /// none. Indexes are kept under name and version.
    fn version(&self) -> Option<&str>;

    /// Returns the number of bytes at its beginning that opening it has read: reading them takes no request.
    fn n_held(&self) -> u64 {
        0
    }

    /// Returns messages on the object for the user.
    fn messages(&self) -> &[Message] {
        &[]
    }

    /// Fills `buffer` with the bytes from `offset` on, and returns the number of requests that were made again after
    /// a transient failure. Returns soon after `stop` is set.
    ///
    /// # Errors
    /// [`RemoteFault`]; `buffer` is undefined then.
    fn read(
        &self,
        offset: u64,
        buffer: &mut [u8],
        stop: Option<&AtomicBool>,
    ) -> Result<u64, RemoteFault>;

    /// Returns the bytes of the index that is published beside the object, at most `most` of them; `None` if there is
    /// none. They are as untrusted as the object. Returns soon after `stop` is set.
    ///
    /// # Errors
    /// [`RemoteFault::Interrupted`]; [`RemoteFault::Failed`] with the reason why a published index is not used.
    fn published_index(
        &self,
        _most: u64,
        _stop: Option<&AtomicBool>,
    ) -> Result<Option<Vec<u8>>, RemoteFault> {
        Ok(None)
    }

    /// Returns the data from which a worker process opens the object ([`OpenObject`]), with the user's secrets or without.
    fn for_worker(&self, secrets: bool) -> Vec<u8>;
}

/// Opens an object in a worker process from the data of [`RangeBytes::for_worker`]. Returns soon after the flag is set.
pub type OpenObject = fn(&[u8], Option<&AtomicBool>) -> Result<Arc<dyn RangeBytes>, RemoteFault>;
