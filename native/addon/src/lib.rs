//! addon
