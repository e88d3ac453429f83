//! Waiting for the word that an end is to stop.

/// Waits until it is said to stop, or nobody could say so any longer.
pub(crate) async fn stopped(stop: &mut tokio::sync::watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}
