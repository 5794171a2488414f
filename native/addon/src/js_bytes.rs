//! Memory of JavaScript as arguments.
//!
//! JavaScript may detach, resize or share a buffer, and two arguments may be views of one. So
//! nothing of it is kept: an argument is asked for its address when it is read or written, and is
//! read or written within one closure, in which no JavaScript runs. While one argument is read none
//! is written, and memory that other threads may change is refused.

use std::cell::Cell;
use std::marker::PhantomData;
use std::{ptr, slice};

use ::sys::error::{Error, Result};
use napi::bindgen_prelude::{FromNapiValue, TypeName, ValidateNapiValue};
use napi::{Status, ValueType, sys};
use primitives::Pubkey;

use crate::arguments::{pubkey, wrong};

thread_local! {
    /// Arguments that are being read on this thread.
    static READING: Cell<u32> = const { Cell::new(0) };
    static IS_WRITING: Cell<bool> = const { Cell::new(false) };
}

/// A `Uint8Array` that is read, for the length of one call.
pub struct Bytes<'c>(View, PhantomData<&'c ()>);

/// A `Uint8Array` that is written, for the length of one call.
pub struct Output<'c>(View, PhantomData<&'c ()>);

/// The bytes of a `Uint8Array` as they were when the call began; for members of objects, whose
/// getters may run JavaScript.
#[derive(Clone)]
pub struct CopiedBytes(Vec<u8>);

/// A value of the current call.
#[derive(Clone, Copy)]
struct View {
    env: sys::napi_env,
    value: sys::napi_value,
}

impl View {
    /// Address and length now. The address of an empty array is dangling.
    fn memory(self) -> Result<(*mut u8, usize)> {
        let (mut kind, mut length, mut bytes) = (0, 0, ptr::null_mut());
        let mut buffer = ptr::null_mut();
        // SAFETY: out-pointers to locals, or null where a value is not wanted; the value is of the
        // current call.
        let status = unsafe {
            sys::napi_get_typedarray_info(
                self.env,
                self.value,
                &mut kind,
                &mut length,
                &mut bytes,
                &mut buffer,
                ptr::null_mut(),
            )
        };
        if status != sys::Status::napi_ok || kind != sys::TypedarrayType::uint8_array {
            return Err(wrong("not a Uint8Array"));
        }
        let mut is_own = false;
        // SAFETY: an out-pointer to a local, and the buffer of the call before.
        let status = unsafe { sys::napi_is_arraybuffer(self.env, buffer, &mut is_own) };
        if status != sys::Status::napi_ok || !is_own {
            return Err(wrong("shared memory"));
        }
        if length == 0 {
            return Ok((ptr::NonNull::dangling().as_ptr(), 0));
        }
        if bytes.is_null() {
            return Err(wrong("a detached buffer"));
        }
        Ok((bytes.cast(), length))
    }

    fn read<T>(self, read: impl FnOnce(&[u8]) -> T) -> Result<T> {
        if IS_WRITING.get() {
            return Err(Error::Internal("read while an argument is written".into()));
        }
        let (bytes, length) = self.memory()?;
        let _guard = Reading::begin();
        // SAFETY: memory of an array that is neither detached nor shared. JavaScript, which alone
        // could change or free it, does not run within the closure, and nothing is written in it.
        Ok(read(unsafe { slice::from_raw_parts(bytes, length) }))
    }
}

/// Counts a read until it is dropped, also by a panic.
struct Reading;

impl Reading {
    fn begin() -> Reading {
        READING.set(READING.get() + 1);
        Reading
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        READING.set(READING.get() - 1);
    }
}

struct Writing;

impl Writing {
    fn begin() -> Result<Writing> {
        if READING.get() > 0 || IS_WRITING.replace(true) {
            return Err(Error::Internal("written while an argument is used".into()));
        }
        Ok(Writing)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        IS_WRITING.set(false);
    }
}

impl Bytes<'_> {
    /// Calls `read` with the bytes.
    pub fn read<T>(&self, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        self.0.read(read)?
    }

    pub fn to_vec(&self) -> Result<Vec<u8>> {
        self.0.read(<[u8]>::to_vec)
    }

    /// A copy of the 32 bytes of an address.
    pub fn pubkey(&self) -> Result<Pubkey> {
        self.read(pubkey)
    }
}

impl Output<'_> {
    /// Calls `write` with the memory.
    pub fn write<T>(&self, write: impl FnOnce(&mut [u8]) -> Result<T>) -> Result<T> {
        let (bytes, length) = self.0.memory()?;
        let _guard = Writing::begin()?;
        // SAFETY: memory of an array that is neither detached nor shared. JavaScript does not run
        // within the closure, and no other argument is read or written in it.
        write(unsafe { slice::from_raw_parts_mut(bytes, length) })
    }

    /// Copies these bytes to the begin of the memory and returns their number; −1 where they do
    /// not fit.
    pub fn copy(&self, from: &[u8]) -> Result<i32> {
        self.write(|out| match out.get_mut(..from.len()) {
            Some(out) => {
                out.copy_from_slice(from);
                Ok(i32::try_from(from.len()).unwrap_or(-1))
            }
            None => Ok(-1),
        })
    }
}

impl std::ops::Deref for CopiedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// The checked view of an argument.
fn view_of(env: sys::napi_env, value: sys::napi_value) -> napi::Result<View> {
    let view = View { env, value };
    view.memory()
        .map(|_| view)
        .map_err(|error| napi::Error::new(Status::InvalidArg, error.detail()))
}

macro_rules! argument {
    ($type:ty, $make:expr) => {
        impl TypeName for $type {
            fn type_name() -> &'static str {
                "Uint8Array"
            }

            fn value_type() -> ValueType {
                ValueType::Object
            }
        }

        impl ValidateNapiValue for $type {}

        impl FromNapiValue for $type {
            unsafe fn from_napi_value(
                env: sys::napi_env,
                value: sys::napi_value,
            ) -> napi::Result<Self> {
                view_of(env, value).and_then($make)
            }
        }
    };
}

argument!(Bytes<'_>, |view| Ok(Bytes(view, PhantomData)));
argument!(Output<'_>, |view| Ok(Output(view, PhantomData)));
argument!(CopiedBytes, |view: View| {
    let copied = view.read(<[u8]>::to_vec);
    copied
        .map(CopiedBytes)
        .map_err(|error| napi::Error::new(Status::InvalidArg, error.detail()))
});

/// The two arguments of a function that is written by hand: what it reads and what it writes. They
/// are checked when they are used.
pub fn pair<'c>(
    env: sys::napi_env,
    [read, written]: [sys::napi_value; 2],
) -> (Bytes<'c>, Output<'c>) {
    let view = |value| View { env, value };
    (
        Bytes(view(read), PhantomData),
        Output(view(written), PhantomData),
    )
}
