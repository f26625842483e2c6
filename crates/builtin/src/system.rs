//! The machine itself.

tools! {
    get_current_time => GetCurrentTime,
    system_info => SystemInfo,
    noop => Noop,
}
