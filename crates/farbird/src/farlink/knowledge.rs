//! What the origin of `farbird serve --farlink` knows of the server in its own process.

use std::sync::Arc;

use farbird_engine::engine::{CommitSubscription, CommittedChanges};
use farbird_gateway::origin::message::{CommitOutcome, CommitPoint, NamedCommit, Relation, Ticket, ToEdge};
use farbird_gateway::origin::{Introduction, IssuedTicket, Knowledge, News, ServerStream, TakesReplies};
use farbird_server::farlink::{self, Farlink, TICKET_LIFETIME};
use tokio::net::UnixStream;

/// A server in this process.
pub(crate) struct OwnServer(pub(crate) Farlink);

impl Knowledge for OwnServer {
    fn connect(
        &self,
        introduction: Introduction,
        replies: Arc<dyn TakesReplies>,
    ) -> std::io::Result<ServerStream> {
        let Introduction { peer, edge, ticket, pass } = introduction;
        let (ticket, pass) = (ticket.map(|ticket| ticket.0), pass.map(|pass| pass.0));
        let stream = self
            .0
            .connect(farlink::Introduction { peer, edge, ticket, pass }, Some(Arc::new(Replies(replies))))?;
        stream.set_nonblocking(true)?;
        let (reader, writer) = UnixStream::from_std(stream)?.into_split();
        Ok(ServerStream { reader: Box::new(reader), writer: Box::new(writer) })
    }

    fn issue_ticket(&self, user: &str) -> Option<IssuedTicket> {
        let (number, data) = self.0.issue_ticket(user)?;
        Some(IssuedTicket { ticket: Ticket(number), data, lifetime: TICKET_LIFETIME })
    }

    fn commit_outcome(&self, file: &[u8], guid: &str, commit: NamedCommit) -> CommitOutcome {
        let Ok(file) = std::str::from_utf8(file) else { return CommitOutcome::Unknown };
        match self.0.commit_outcome(file, guid, commit.name, commit.since.0) {
            farlink::CommitOutcome::Committed => CommitOutcome::Committed,
            farlink::CommitOutcome::NotCommitted => CommitOutcome::NotCommitted,
            farlink::CommitOutcome::Unknown => CommitOutcome::Unknown,
        }
    }

    fn subscribe(&self, wake: Box<dyn Fn() + Send + Sync>) -> Box<dyn News> {
        Box::new(Commits { farlink: self.0.clone(), subscription: self.0.commit_news().subscribe(wake) })
    }
}

/// What the server says on a connection of the origin.
struct Replies(Arc<dyn TakesReplies>);

impl farlink::TakesReplies for Replies {
    fn take(&self, before: u64, bytes: &mut [u8]) -> bool {
        self.0.take(before, bytes)
    }
}

/// Commits for one link.
struct Commits {
    farlink: Farlink,
    subscription: Arc<CommitSubscription>,
}

impl News for Commits {
    fn take(&mut self) -> Vec<ToEdge> {
        let mut news = Vec::new();
        for (database, CommittedChanges { commit, relations, is_catalog_changed }) in self.subscription.take()
        {
            if self.farlink.holds_users(database) {
                news.push(ToEdge::UsersChanged);
                continue;
            }
            if is_catalog_changed {
                news.push(ToEdge::Invalidate { database });
            }
            let relations = relations.into_iter().map(Relation).collect();
            news.push(ToEdge::Notice { database, commit: CommitPoint(commit), relations });
        }
        news
    }
}
