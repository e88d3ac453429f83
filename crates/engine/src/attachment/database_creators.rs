//! Who may create databases, as the database says in which a server keeps its users: GRANT CREATE DATABASE runs there.

use crate::attachment::Attachment;
use crate::catalog::privileges::{DdlAction, object_type};

impl Attachment {
    /// Those to whom CREATE DATABASE was granted in this database, with RDB$USER_TYPE.
    pub fn database_creators(&self) -> Vec<(String, i16)> {
        let catalog = self.database().catalog();
        let granted = catalog.privileges.values().filter(|it| {
            it.object_type == object_type::DATABASE && it.privilege == DdlAction::Create.letter()
        });
        granted.map(|it| (it.user.clone(), it.user_type)).collect()
    }
}
