//! Talking to people.

tools! {
    notify => Notify,
}
