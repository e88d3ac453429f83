//! Answers that somebody will ask for, until somebody does.
//!
//! Promises: an answer nobody asks for any more is not kept; the bytes kept are counted.

use std::collections::VecDeque;
use std::task::Waker;

use super::conversation::{Answer, Received, Ticket};

#[derive(Debug)]
struct Mailbox {
    ticket: Ticket,
    replies: VecDeque<(Received, usize)>,
    is_complete: bool,
    /// Who waits for the next packet.
    waker: Option<Waker>,
}

/// The mailboxes of one connection, by rising ticket.
#[derive(Debug, Default)]
pub(super) struct Mailboxes {
    boxes: VecDeque<Mailbox>,
    /// Bytes of the packets that are here.
    held_bytes: usize,
    /// How many mailboxes somebody waits at.
    waiting: usize,
}

impl Mailboxes {
    pub(super) fn open(&mut self, ticket: Ticket) {
        let mailbox = Mailbox { ticket, replies: VecDeque::new(), is_complete: false, waker: None };
        self.boxes.push_back(mailbox);
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    fn position(&self, ticket: Ticket) -> Option<usize> {
        // Answers are mostly asked for in the order of their questions.
        if self.boxes.front().is_some_and(|mailbox| mailbox.ticket == ticket) {
            return Some(0);
        }
        self.boxes.binary_search_by_key(&ticket, |mailbox| mailbox.ticket).ok()
    }

    fn get(&mut self, ticket: Ticket) -> Option<&mut Mailbox> {
        let position = self.position(ticket)?;
        self.boxes.get_mut(position)
    }

    /// What came next in answer to this question, and whether it was the last: the mailbox is then gone.
    pub(super) fn take(&mut self, ticket: Ticket) -> Option<(Received, bool)> {
        let mailbox = self.get(ticket)?;
        let (received, bytes) = mailbox.replies.pop_front()?;
        let is_last = mailbox.is_complete && mailbox.replies.is_empty();
        self.held_bytes -= bytes;
        if is_last {
            self.close(ticket);
        }
        Some((received, is_last))
    }

    /// Wakes this task when a packet comes.
    pub(super) fn wait(&mut self, ticket: Ticket, waker: &Waker) {
        let Some(mailbox) = self.get(ticket) else { return };
        if mailbox.waker.replace(waker.clone()).is_none() {
            self.waiting += 1;
        }
    }

    /// Nobody waits at this mailbox any more, for now.
    pub(super) fn stop_waiting(&mut self, ticket: Ticket) {
        if self.get(ticket).is_some_and(|mailbox| mailbox.waker.take().is_some()) {
            self.waiting -= 1;
        }
    }

    /// Puts an answer where it belongs, and wakes who waits for it. Gives whether somebody was waiting.
    pub(super) fn deliver(&mut self, answer: Answer) -> bool {
        let Answer { ticket, received, is_last, bytes } = answer;
        let Some(mailbox) = self.get(ticket) else { return false };
        mailbox.replies.push_back((received, bytes));
        mailbox.is_complete = is_last;
        let waker = mailbox.waker.take();
        self.held_bytes += bytes;
        let Some(waker) = waker else { return false };
        self.waiting -= 1;
        waker.wake();
        true
    }

    /// The answer to this question is no longer of interest.
    pub(super) fn close(&mut self, ticket: Ticket) {
        let Some(position) = self.position(ticket) else { return };
        if let Some(mailbox) = self.boxes.remove(position) {
            self.held_bytes -= mailbox.replies.iter().map(|(_, bytes)| bytes).sum::<usize>();
            self.waiting -= usize::from(mailbox.waker.is_some());
        }
    }

    /// Wakes everybody: the connection has failed.
    pub(super) fn wake_all(&mut self) {
        for mailbox in &mut self.boxes {
            if let Some(waker) = mailbox.waker.take() {
                self.waiting -= 1;
                waker.wake();
            }
        }
    }
}
