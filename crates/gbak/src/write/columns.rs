//! Which column of the system tables each attribute is.
//!
//! Source: enum att_type of Firebird's burp.h, and what backup.epp writes.

use crate::RecordKind;
use crate::RecordKind as Kind;

/// How a column becomes an attribute's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A name, without the spaces behind it.
    Name,
    /// Four bytes.
    Number,
    /// Eight bytes.
    Long,
    /// One byte, since format 11 only.
    Flag,
    /// The bytes of a CHAR, since format 11 only.
    Bytes,
    /// A text in a BLOB: one segment, and the zero behind it.
    Source,
    /// BLR, and what else is compiled.
    Program,
    /// The text of an exception: this attribute up to 255 bytes, the other one for longer ones.
    Message { long: u8 },
}

/// An attribute, and the column that it is.
pub(super) type ColumnOf = (u8, &'static str, Form);

/// The records of a kind as rows of a query.
pub(super) struct TableOf {
    pub(super) kind: RecordKind,
    /// What stands behind FROM, up to the end of the query. `A` is the table whose columns have no prefix.
    pub(super) from: &'static str,
    /// The system tables whose columns are asked for: those that a server does not have are left away.
    pub(super) tables: &'static [(&'static str, &'static str)],
    /// Columns that say what a record belongs to: a table, or a package and a routine.
    pub(super) owner: &'static [&'static str],
    pub(super) columns: &'static [ColumnOf],
}

use Form::{Bytes, Flag, Long, Message, Name, Number, Program, Source};

/// Definitions of users: rows that a server has made itself have 1 here.
macro_rules! users {
    ($table:literal, $order:literal) => {
        concat!($table, " A where coalesce(A.RDB$SYSTEM_FLAG, 0) <> 1 order by ", $order)
    };
}

pub(super) const DATABASE: TableOf = TableOf {
    kind: Kind::Database,
    from: "RDB$DATABASE A",
    tables: &[("A", "RDB$DATABASE")],
    owner: &[],
    columns: &[
        (10, "A.RDB$DESCRIPTION", Source),
        (11, "A.RDB$CHARACTER_SET_NAME", Name),
        (16, "A.RDB$LINGER", Number),
        (19, "A.RDB$SQL_SECURITY", Flag),
    ],
};

pub(super) const GLOBAL_FIELDS: TableOf = TableOf {
    kind: Kind::GlobalField,
    from: users!("RDB$FIELDS", "A.RDB$FIELD_NAME"),
    tables: &[("A", "RDB$FIELDS")],
    owner: &[],
    columns: &[
        (1, "A.RDB$FIELD_NAME", Name),
        (8, "A.RDB$FIELD_TYPE", Number),
        (10, "A.RDB$FIELD_LENGTH", Number),
        (9, "A.RDB$FIELD_SUB_TYPE", Number),
        (11, "A.RDB$FIELD_SCALE", Number),
        (15, "A.RDB$DEFAULT_VALUE", Program),
        (20, "A.RDB$VALIDATION_BLR", Program),
        (36, "A.RDB$VALIDATION_SOURCE", Source),
        (18, "A.RDB$COMPUTED_BLR", Program),
        (37, "A.RDB$COMPUTED_SOURCE", Source),
        (12, "A.RDB$SEGMENT_LENGTH", Number),
        (35, "A.RDB$DESCRIPTION", Source),
        (26, "A.RDB$EXTERNAL_LENGTH", Number),
        (27, "A.RDB$EXTERNAL_TYPE", Number),
        (28, "A.RDB$EXTERNAL_SCALE", Number),
        (29, "A.RDB$DIMENSIONS", Number),
        (38, "A.RDB$NULL_FLAG", Number),
        (41, "A.RDB$CHARACTER_LENGTH", Number),
        (39, "A.RDB$DEFAULT_SOURCE", Source),
        (42, "A.RDB$CHARACTER_SET_ID", Number),
        (43, "A.RDB$COLLATION_ID", Number),
        (44, "A.RDB$FIELD_PRECISION", Number),
        (45, "A.RDB$OWNER_NAME", Name),
    ],
};

pub(super) const RELATIONS: TableOf = TableOf {
    kind: Kind::Relation,
    from: users!("RDB$RELATIONS", "A.RDB$RELATION_ID"),
    tables: &[("A", "RDB$RELATIONS")],
    owner: &[],
    columns: &[
        (1, "A.RDB$RELATION_NAME", Name),
        // gbak wants it before all other BLOBs.
        (2, "A.RDB$VIEW_BLR", Program),
        (16, "A.RDB$FLAGS", Number),
        (13, "A.RDB$DESCRIPTION", Source),
        (14, "A.RDB$VIEW_SOURCE", Source),
        (15, "A.RDB$EXTERNAL_DESCRIPTION", Source),
        (12, "A.RDB$OWNER_NAME", Name),
        (17, "A.RDB$EXTERNAL_FILE", Name),
        (18, "A.RDB$RELATION_TYPE", Number),
        (20, "A.RDB$SQL_SECURITY", Flag),
    ],
};

pub(super) const FIELDS: TableOf = TableOf {
    kind: Kind::Field,
    from: "RDB$RELATION_FIELDS A join RDB$FIELDS B on B.RDB$FIELD_NAME = A.RDB$FIELD_SOURCE \
           join RDB$RELATIONS C on C.RDB$RELATION_NAME = A.RDB$RELATION_NAME \
           where coalesce(C.RDB$SYSTEM_FLAG, 0) <> 1 order by A.RDB$RELATION_NAME, A.RDB$FIELD_POSITION",
    tables: &[("A", "RDB$RELATION_FIELDS"), ("B", "RDB$FIELDS")],
    owner: &["A.RDB$RELATION_NAME"],
    columns: &[
        (1, "A.RDB$FIELD_NAME", Name),
        (2, "A.RDB$FIELD_SOURCE", Name),
        (35, "A.RDB$DESCRIPTION", Source),
        (13, "A.RDB$FIELD_POSITION", Number),
        (8, "B.RDB$FIELD_TYPE", Number),
        (10, "B.RDB$FIELD_LENGTH", Number),
        (9, "B.RDB$FIELD_SUB_TYPE", Number),
        (11, "B.RDB$FIELD_SCALE", Number),
        (22, "A.RDB$FIELD_ID", Number),
        (34, "A.RDB$UPDATE_FLAG", Number),
        (38, "A.RDB$NULL_FLAG", Number),
        (42, "B.RDB$CHARACTER_SET_ID", Number),
        (43, "A.RDB$COLLATION_ID", Number),
        (15, "A.RDB$DEFAULT_VALUE", Program),
        (39, "A.RDB$DEFAULT_SOURCE", Source),
        (4, "A.RDB$VIEW_CONTEXT", Number),
        (3, "A.RDB$BASE_FIELD", Name),
        (29, "B.RDB$DIMENSIONS", Number),
        (46, "A.RDB$GENERATOR_NAME", Name),
        (47, "A.RDB$IDENTITY_TYPE", Number),
    ],
};

pub(super) const VIEW_RELATIONS: TableOf = TableOf {
    kind: Kind::View,
    from: "RDB$VIEW_RELATIONS A order by A.RDB$VIEW_NAME, A.RDB$VIEW_CONTEXT",
    tables: &[("A", "RDB$VIEW_RELATIONS")],
    owner: &["A.RDB$VIEW_NAME"],
    columns: &[
        (8, "A.RDB$RELATION_NAME", Name),
        (9, "A.RDB$VIEW_CONTEXT", Number),
        (10, "A.RDB$CONTEXT_NAME", Name),
        (11, "A.RDB$CONTEXT_TYPE", Number),
        (12, "A.RDB$PACKAGE_NAME", Name),
    ],
};

pub(super) const INDEXES: TableOf = TableOf {
    kind: Kind::Index,
    from: users!("RDB$INDICES", "A.RDB$RELATION_NAME, A.RDB$INDEX_ID"),
    tables: &[("A", "RDB$INDICES")],
    owner: &["A.RDB$RELATION_NAME"],
    columns: &[
        (1, "A.RDB$INDEX_NAME", Name),
        (2, "A.RDB$SEGMENT_COUNT", Number),
        (3, "A.RDB$INDEX_INACTIVE", Number),
        (4, "A.RDB$UNIQUE_FLAG", Number),
        (9, "A.RDB$DESCRIPTION", Source),
        (7, "A.RDB$INDEX_TYPE", Number),
        (10, "A.RDB$EXPRESSION_SOURCE", Source),
        (11, "A.RDB$EXPRESSION_BLR", Program),
        (8, "A.RDB$FOREIGN_KEY", Name),
        (12, "A.RDB$CONDITION_SOURCE", Source),
        (13, "A.RDB$CONDITION_BLR", Program),
    ],
};

/// The columns of indexes: each becomes an attribute of its index.
pub(super) const INDEX_SEGMENTS: TableOf = TableOf {
    kind: Kind::Index,
    from: "RDB$INDEX_SEGMENTS A order by A.RDB$INDEX_NAME, A.RDB$FIELD_POSITION",
    tables: &[("A", "RDB$INDEX_SEGMENTS")],
    owner: &["A.RDB$INDEX_NAME"],
    columns: &[(5, "A.RDB$FIELD_NAME", Name)],
};

pub(super) const PROCEDURES: TableOf = TableOf {
    kind: Kind::Procedure,
    from: users!("RDB$PROCEDURES", "A.RDB$PROCEDURE_ID"),
    tables: &[("A", "RDB$PROCEDURES")],
    owner: &[],
    columns: &[
        (16, "A.RDB$PACKAGE_NAME", Name),
        (1, "A.RDB$PROCEDURE_NAME", Name),
        (2, "A.RDB$PROCEDURE_INPUTS", Number),
        (3, "A.RDB$PROCEDURE_OUTPUTS", Number),
        (5, "A.RDB$DESCRIPTION", Source),
        (7, "A.RDB$PROCEDURE_SOURCE", Source),
        (8, "A.RDB$PROCEDURE_BLR", Program),
        (10, "A.RDB$OWNER_NAME", Name),
        (11, "A.RDB$PROCEDURE_TYPE", Number),
        (12, "A.RDB$VALID_BLR", Number),
        (13, "A.RDB$DEBUG_INFO", Program),
        (14, "A.RDB$ENGINE_NAME", Name),
        (15, "A.RDB$ENTRYPOINT", Name),
        (17, "A.RDB$PRIVATE_FLAG", Number),
        (19, "A.RDB$SQL_SECURITY", Flag),
    ],
};

pub(super) const PROCEDURE_PARAMETERS: TableOf = TableOf {
    kind: Kind::ProcedureParameter,
    from: users!(
        "RDB$PROCEDURE_PARAMETERS",
        "A.RDB$PROCEDURE_NAME, A.RDB$PARAMETER_TYPE, A.RDB$PARAMETER_NUMBER"
    ),
    tables: &[("A", "RDB$PROCEDURE_PARAMETERS")],
    owner: &["A.RDB$PACKAGE_NAME", "A.RDB$PROCEDURE_NAME"],
    columns: &[
        (1, "A.RDB$PARAMETER_NAME", Name),
        (2, "A.RDB$PARAMETER_NUMBER", Number),
        (3, "A.RDB$PARAMETER_TYPE", Number),
        (4, "A.RDB$FIELD_SOURCE", Name),
        (6, "A.RDB$DESCRIPTION", Source),
        (7, "A.RDB$DEFAULT_VALUE", Program),
        (8, "A.RDB$DEFAULT_SOURCE", Source),
        (9, "A.RDB$COLLATION_ID", Number),
        (10, "A.RDB$NULL_FLAG", Number),
        (11, "A.RDB$PARAMETER_MECHANISM", Number),
        (12, "A.RDB$FIELD_NAME", Name),
        (13, "A.RDB$RELATION_NAME", Name),
    ],
};

pub(super) const FUNCTIONS: TableOf = TableOf {
    kind: Kind::Function,
    from: users!("RDB$FUNCTIONS", "A.RDB$FUNCTION_ID"),
    tables: &[("A", "RDB$FUNCTIONS")],
    owner: &[],
    columns: &[
        (11, "A.RDB$PACKAGE_NAME", Name),
        (1, "A.RDB$FUNCTION_NAME", Name),
        (9, "A.RDB$DESCRIPTION", Source),
        (6, "A.RDB$RETURN_ARGUMENT", Number),
        (8, "A.RDB$FUNCTION_TYPE", Number),
        (4, "A.RDB$MODULE_NAME", Name),
        (5, "A.RDB$ENTRYPOINT", Name),
        (10, "A.RDB$ENGINE_NAME", Name),
        (12, "A.RDB$PRIVATE_FLAG", Number),
        (13, "A.RDB$FUNCTION_BLR", Program),
        (14, "A.RDB$FUNCTION_SOURCE", Source),
        (15, "A.RDB$VALID_BLR", Number),
        (16, "A.RDB$DEBUG_INFO", Program),
        (18, "A.RDB$OWNER_NAME", Name),
        (19, "A.RDB$LEGACY_FLAG", Number),
        (20, "A.RDB$DETERMINISTIC_FLAG", Number),
        (22, "A.RDB$SQL_SECURITY", Flag),
    ],
};

pub(super) const FUNCTION_ARGUMENTS: TableOf = TableOf {
    kind: Kind::FunctionArgument,
    from: users!("RDB$FUNCTION_ARGUMENTS", "A.RDB$FUNCTION_NAME, A.RDB$ARGUMENT_POSITION"),
    tables: &[("A", "RDB$FUNCTION_ARGUMENTS")],
    owner: &["A.RDB$PACKAGE_NAME", "A.RDB$FUNCTION_NAME"],
    columns: &[
        (10, "A.RDB$PACKAGE_NAME", Name),
        (1, "A.RDB$FUNCTION_NAME", Name),
        (2, "A.RDB$ARGUMENT_POSITION", Number),
        (3, "A.RDB$MECHANISM", Number),
        (4, "A.RDB$FIELD_TYPE", Number),
        (5, "A.RDB$FIELD_SCALE", Number),
        (6, "A.RDB$FIELD_LENGTH", Number),
        (7, "A.RDB$FIELD_SUB_TYPE", Number),
        (8, "A.RDB$CHARACTER_SET_ID", Number),
        (9, "A.RDB$FIELD_PRECISION", Number),
        (11, "A.RDB$ARGUMENT_NAME", Name),
        (12, "A.RDB$FIELD_SOURCE", Name),
        (13, "A.RDB$DEFAULT_VALUE", Program),
        (14, "A.RDB$DEFAULT_SOURCE", Source),
        (15, "A.RDB$COLLATION_ID", Number),
        (16, "A.RDB$NULL_FLAG", Number),
        (17, "A.RDB$ARGUMENT_MECHANISM", Number),
        (18, "A.RDB$FIELD_NAME", Name),
        (19, "A.RDB$RELATION_NAME", Name),
        (20, "A.RDB$DESCRIPTION", Source),
    ],
};

/// Kinds that consist of one record each, in the order of the file up to the rows.
pub(super) const BEFORE_TABLES: [&TableOf; 2] = [
    &TableOf {
        kind: Kind::FieldDimensions,
        from: "RDB$FIELD_DIMENSIONS A order by A.RDB$FIELD_NAME, A.RDB$DIMENSION",
        tables: &[("A", "RDB$FIELD_DIMENSIONS")],
        owner: &[],
        columns: &[
            (1, "A.RDB$FIELD_NAME", Name),
            (29, "A.RDB$DIMENSION", Number),
            (32, "A.RDB$LOWER_BOUND", Number),
            (33, "A.RDB$UPPER_BOUND", Number),
        ],
    },
    &TableOf {
        kind: Kind::Collation,
        from: users!("RDB$COLLATIONS", "A.RDB$CHARACTER_SET_ID, A.RDB$COLLATION_ID"),
        tables: &[("A", "RDB$COLLATIONS")],
        owner: &[],
        columns: &[
            (1, "A.RDB$COLLATION_NAME", Name),
            (2, "A.RDB$COLLATION_ID", Number),
            (3, "A.RDB$CHARACTER_SET_ID", Number),
            (4, "A.RDB$COLLATION_ATTRIBUTES", Number),
            (7, "A.RDB$DESCRIPTION", Source),
            (8, "A.RDB$FUNCTION_NAME", Name),
            (9, "A.RDB$BASE_COLLATION_NAME", Name),
            (10, "A.RDB$SPECIFIC_ATTRIBUTES", Source),
            (12, "A.RDB$OWNER_NAME", Name),
        ],
    },
];

/// The same behind the tables.
pub(super) const BEHIND_TABLES: [&TableOf; 2] = [
    &TableOf {
        kind: Kind::Generator,
        from: users!("RDB$GENERATORS", "A.RDB$GENERATOR_ID"),
        tables: &[("A", "RDB$GENERATORS")],
        owner: &[],
        columns: &[
            (1, "A.RDB$GENERATOR_NAME", Name),
            (4, "A.RDB$DESCRIPTION", Source),
            (7, "A.RDB$SYSTEM_FLAG", Number),
            (6, "A.RDB$OWNER_NAME", Name),
            (8, "A.RDB$INITIAL_VALUE", Long),
            (9, "A.RDB$GENERATOR_INCREMENT", Number),
        ],
    },
    &TableOf {
        kind: Kind::Exception,
        from: users!("RDB$EXCEPTIONS", "A.RDB$EXCEPTION_NUMBER"),
        tables: &[("A", "RDB$EXCEPTIONS")],
        owner: &[],
        columns: &[
            (1, "A.RDB$EXCEPTION_NAME", Name),
            (2, "A.RDB$MESSAGE", Message { long: 5 }),
            (4, "A.RDB$DESCRIPTION", Source),
            (7, "A.RDB$OWNER_NAME", Name),
        ],
    },
];

pub(super) const PACKAGES: TableOf = TableOf {
    kind: Kind::Package,
    from: users!("RDB$PACKAGES", "A.RDB$PACKAGE_NAME"),
    tables: &[("A", "RDB$PACKAGES")],
    owner: &[],
    columns: &[
        (1, "A.RDB$PACKAGE_NAME", Name),
        (2, "A.RDB$PACKAGE_HEADER_SOURCE", Source),
        (3, "A.RDB$PACKAGE_BODY_SOURCE", Source),
        (4, "A.RDB$VALID_BODY_FLAG", Number),
        (6, "A.RDB$OWNER_NAME", Name),
        (7, "A.RDB$DESCRIPTION", Source),
        (9, "A.RDB$SQL_SECURITY", Flag),
    ],
};

pub(super) const TRIGGERS: TableOf = TableOf {
    kind: Kind::Trigger,
    from: users!(
        "RDB$TRIGGERS",
        "A.RDB$RELATION_NAME, A.RDB$TRIGGER_TYPE, A.RDB$TRIGGER_SEQUENCE, A.RDB$TRIGGER_NAME"
    ),
    tables: &[("A", "RDB$TRIGGERS")],
    owner: &[],
    columns: &[
        (4, "A.RDB$TRIGGER_NAME", Name),
        (5, "A.RDB$RELATION_NAME", Name),
        (6, "A.RDB$TRIGGER_SEQUENCE", Number),
        (1, "A.RDB$TRIGGER_TYPE", Number),
        (2, "A.RDB$TRIGGER_BLR", Program),
        (10, "A.RDB$TRIGGER_SOURCE", Source),
        (11, "A.RDB$DESCRIPTION", Source),
        (8, "A.RDB$SYSTEM_FLAG", Number),
        (9, "A.RDB$TRIGGER_INACTIVE", Number),
        (12, "A.RDB$FLAGS", Number),
        (13, "A.RDB$VALID_BLR", Number),
        (14, "A.RDB$DEBUG_INFO", Program),
        (15, "A.RDB$ENGINE_NAME", Name),
        (16, "A.RDB$ENTRYPOINT", Name),
        (19, "A.RDB$SQL_SECURITY", Flag),
    ],
};

/// Kinds that consist of one record each, in the order of the file, behind the triggers.
pub(super) const LAST: [&TableOf; 6] = [
    &TableOf {
        kind: Kind::UserPrivilege,
        from: "RDB$USER_PRIVILEGES A where A.RDB$GRANTOR is not null",
        tables: &[("A", "RDB$USER_PRIVILEGES")],
        owner: &[],
        columns: &[
            (1, "A.RDB$USER", Name),
            (2, "A.RDB$GRANTOR", Name),
            (3, "A.RDB$PRIVILEGE", Name),
            (4, "A.RDB$GRANT_OPTION", Number),
            (5, "A.RDB$RELATION_NAME", Name),
            (6, "A.RDB$FIELD_NAME", Name),
            (7, "A.RDB$USER_TYPE", Number),
            (8, "A.RDB$OBJECT_TYPE", Number),
        ],
    },
    &TableOf {
        kind: Kind::Constraint,
        from: "RDB$RELATION_CONSTRAINTS A join RDB$RELATIONS C on C.RDB$RELATION_NAME = A.RDB$RELATION_NAME \
               where coalesce(C.RDB$SYSTEM_FLAG, 0) <> 1 order by A.RDB$CONSTRAINT_NAME",
        tables: &[("A", "RDB$RELATION_CONSTRAINTS")],
        owner: &[],
        columns: &[
            (1, "A.RDB$CONSTRAINT_NAME", Name),
            (2, "A.RDB$CONSTRAINT_TYPE", Name),
            (3, "A.RDB$RELATION_NAME", Name),
            (4, "A.RDB$DEFERRABLE", Name),
            (5, "A.RDB$INITIALLY_DEFERRED", Name),
            (6, "A.RDB$INDEX_NAME", Name),
        ],
    },
    &TableOf {
        kind: Kind::Reference,
        from: "RDB$REF_CONSTRAINTS A",
        tables: &[("A", "RDB$REF_CONSTRAINTS")],
        owner: &[],
        columns: &[
            (1, "A.RDB$CONSTRAINT_NAME", Name),
            (2, "A.RDB$CONST_NAME_UQ", Name),
            (3, "A.RDB$MATCH_OPTION", Name),
            (4, "A.RDB$UPDATE_RULE", Name),
            (5, "A.RDB$DELETE_RULE", Name),
        ],
    },
    &TableOf {
        kind: Kind::Check,
        from: "RDB$CHECK_CONSTRAINTS A join RDB$RELATION_CONSTRAINTS B \
               on B.RDB$CONSTRAINT_NAME = A.RDB$CONSTRAINT_NAME \
               join RDB$RELATIONS C on C.RDB$RELATION_NAME = B.RDB$RELATION_NAME \
               where coalesce(C.RDB$SYSTEM_FLAG, 0) <> 1",
        tables: &[("A", "RDB$CHECK_CONSTRAINTS")],
        owner: &[],
        columns: &[(1, "A.RDB$CONSTRAINT_NAME", Name), (2, "A.RDB$TRIGGER_NAME", Name)],
    },
    &TableOf {
        kind: Kind::Role,
        from: users!("RDB$ROLES", "A.RDB$ROLE_NAME"),
        tables: &[("A", "RDB$ROLES")],
        owner: &[],
        columns: &[
            (1, "A.RDB$ROLE_NAME", Name),
            (2, "A.RDB$OWNER_NAME", Name),
            (3, "A.RDB$DESCRIPTION", Source),
            (4, "A.RDB$SYSTEM_PRIVILEGES", Bytes),
        ],
    },
    &TableOf {
        kind: Kind::Mapping,
        from: users!("RDB$AUTH_MAPPING", "A.RDB$MAP_NAME"),
        tables: &[("A", "RDB$AUTH_MAPPING")],
        owner: &[],
        columns: &[
            (1, "A.RDB$MAP_NAME", Name),
            (2, "A.RDB$MAP_USING", Name),
            (3, "A.RDB$MAP_PLUGIN", Name),
            (5, "A.RDB$MAP_DB", Name),
            (6, "A.RDB$MAP_FROM_TYPE", Name),
            (7, "A.RDB$MAP_FROM", Name),
            (8, "A.RDB$MAP_TO_TYPE", Number),
            (9, "A.RDB$MAP_TO", Name),
            (10, "A.RDB$DESCRIPTION", Source),
        ],
    },
];
