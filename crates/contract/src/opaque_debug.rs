/// Implements `Debug` for a type that holds trait objects or functions: its name, and the fields that are given, as
/// `opaque_debug!(Session: id = inner.id, agent = inner.caller.agent)`.
#[macro_export]
macro_rules! opaque_debug {
    ($type:ident $(<$lifetime:lifetime>)? $(: $($name:ident = $($path:ident).+),+)?) => {
        impl std::fmt::Debug for $type $(<$lifetime>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))$($(.field(stringify!($name), &self.$($path).+))+)?.finish_non_exhaustive()
            }
        }
    };
}
