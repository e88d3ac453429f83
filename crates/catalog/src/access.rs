//! What a statement needs to be allowed: the uses of objects that binding has met.

use crate::{ObjectKind, Routine};

/// A use of an object that needs a privilege.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// What kind of object.
    pub kind: ObjectKind,
    /// Its name.
    pub object: String,
    /// The column, for reads, updates and references of columns.
    pub column: Option<String>,
    /// What is done with it.
    pub privilege: AccessPrivilege,
    /// Of a package: which of its routines is called, a procedure or a function of that name.
    pub routine: Option<(ObjectKind, String)>,
    /// The view, or the table of SQL SECURITY DEFINER, in whose owner's name it is done.
    pub owner_of: Option<String>,
    /// The system trigger of the CHECK constraint that does it: what was granted to that trigger counts as well.
    pub check: Option<String>,
}

impl Access {
    /// A use of an object by whoever runs the statement.
    pub fn of(kind: ObjectKind, object: &str, privilege: AccessPrivilege) -> Access {
        Access {
            kind,
            object: object.to_owned(),
            column: None,
            privilege,
            routine: None,
            owner_of: None,
            check: None,
        }
    }

    /// A call of a procedure or function (`kind`): of one in a package, the package is what one may use.
    pub fn of_call(kind: ObjectKind, routine: &Routine) -> Access {
        match &routine.package {
            Some(package) => Access {
                routine: Some((kind, routine.name.clone())),
                ..Access::of(ObjectKind::Package, package, AccessPrivilege::Execute)
            },
            None => Access::of(kind, &routine.name, AccessPrivilege::Execute),
        }
    }
}

/// What is done with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum AccessPrivilege {
    Select,
    Insert,
    Delete,
    Update,
    /// SELECT ... WITH LOCK: needs UPDATE, and fires nothing.
    Lock,
    References,
    Execute,
    Usage,
}
