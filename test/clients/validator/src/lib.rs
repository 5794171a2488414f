//! A Geyser plugin that serves the feed of its validator as a Yellowstone server of the same line
//! does. It is equipment of `npm run soak:validator`.

mod chain;
mod config;
mod convert;
mod filter;
mod item;
mod plugin;
mod server;
mod subscription;
#[cfg(test)]
mod tests;

use agave_geyser_plugin_interface::geyser_plugin_interface::GeyserPlugin;

/// Called by the validator.
///
/// # Safety
/// The pointer is owned by the caller, who makes a `Box` of it.
#[unsafe(no_mangle)]
#[allow(improper_ctypes_definitions)]
pub unsafe extern "C" fn _create_plugin() -> *mut dyn GeyserPlugin {
    let plugin: Box<dyn GeyserPlugin> = Box::new(plugin::Plugin::default());
    Box::into_raw(plugin)
}
