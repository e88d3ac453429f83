//! Numbers of attributes, by what they belong to.
//!
//! Source: enum att_type of Firebird's burp.h; the names are those of the RDB$ columns that they hold.

/// Of the backup itself.
#[allow(missing_docs)]
pub mod backup {
    pub const FORMAT: u8 = 2;
    pub const COMPRESS: u8 = 4;
    pub const TRANSPORTABLE: u8 = 5;
    pub const FILE: u8 = 7;
    pub const DATE: u8 = 1;
    pub const ZIP: u8 = 10;
    pub const HASH: u8 = 11;
    pub const CRYPT: u8 = 12;
    pub const KEYNAME: u8 = 9;
}

/// Of the database file.
#[allow(missing_docs)]
pub mod physical {
    pub const PAGE_SIZE: u8 = 5;
    pub const SWEEP_INTERVAL: u8 = 8;
    pub const SQL_DIALECT: u8 = 14;
    pub const DB_READ_ONLY: u8 = 15;
}

/// Of the database.
#[allow(missing_docs)]
pub mod database {
    pub const DESCRIPTION: u8 = 6;
    pub const DESCRIPTION2: u8 = 10;
    pub const DFL_CHARSET: u8 = 11;
    pub const LINGER: u8 = 16;
    pub const SQL_SECURITY_DEPRECATED: u8 = 17;
    pub const SQL_SECURITY: u8 = 19;
}

/// Of a table or view.
#[allow(missing_docs)]
pub mod relation {
    pub const NAME: u8 = 1;
    pub const VIEW_BLR: u8 = 2;
    pub const DESCRIPTION: u8 = 3;
    pub const SYSTEM_FLAG: u8 = 7;
    pub const VIEW_SOURCE: u8 = 9;
    pub const OWNER_NAME: u8 = 12;
    pub const DESCRIPTION2: u8 = 13;
    pub const VIEW_SOURCE2: u8 = 14;
    pub const EXT_FILE_NAME: u8 = 17;
    pub const TYPE: u8 = 18;
    pub const SQL_SECURITY_DEPRECATED: u8 = 19;
    pub const SQL_SECURITY: u8 = 20;
}

/// Of a domain, and of a column.
#[allow(missing_docs)]
pub mod field {
    pub const NAME: u8 = 1;
    pub const SOURCE: u8 = 2;
    pub const TYPE: u8 = 8;
    pub const SUB_TYPE: u8 = 9;
    pub const LENGTH: u8 = 10;
    pub const SCALE: u8 = 11;
    pub const SEGMENT_LENGTH: u8 = 12;
    pub const POSITION: u8 = 13;
    pub const DESCRIPTION: u8 = 16;
    pub const COMPUTED_SOURCE: u8 = 19;
    pub const VALIDATION_SOURCE: u8 = 21;
    pub const NUMBER: u8 = 22;
    pub const COMPUTED_FLAG: u8 = 23;
    pub const SYSTEM_FLAG: u8 = 24;
    pub const DIMENSIONS: u8 = 29;
    pub const RANGE_LOW: u8 = 32;
    pub const RANGE_HIGH: u8 = 33;
    pub const DESCRIPTION2: u8 = 35;
    pub const VALIDATION_SOURCE2: u8 = 36;
    pub const COMPUTED_SOURCE2: u8 = 37;
    pub const NULL_FLAG: u8 = 38;
    pub const DEFAULT_SOURCE: u8 = 39;
    pub const CHARACTER_LENGTH: u8 = 41;
    pub const CHARACTER_SET: u8 = 42;
    pub const COLLATION_ID: u8 = 43;
    pub const PRECISION: u8 = 44;
    pub const OWNER_NAME: u8 = 45;
    pub const GENERATOR_NAME: u8 = 46;
    pub const IDENTITY_TYPE: u8 = 47;
    pub const EXTERNAL_LENGTH: u8 = 26;
    pub const DEFAULT_BLR: u8 = 15;
    pub const COMPUTED_BLR: u8 = 18;
    pub const VALIDATION_BLR: u8 = 20;
    pub const SECURITY_CLASS: u8 = 25;
}

/// Of an index.
#[allow(missing_docs)]
pub mod index {
    pub const NAME: u8 = 1;
    pub const INACTIVE: u8 = 3;
    pub const UNIQUE_FLAG: u8 = 4;
    pub const FIELD_NAME: u8 = 5;
    pub const DESCRIPTION: u8 = 6;
    pub const TYPE: u8 = 7;
    pub const FOREIGN_KEY: u8 = 8;
    pub const DESCRIPTION2: u8 = 9;
    pub const EXPRESSION_SOURCE: u8 = 10;
    pub const CONDITION_SOURCE: u8 = 12;
    pub const EXPRESSION_BLR: u8 = 11;
    pub const CONDITION_BLR: u8 = 13;
}

/// Of a row.
#[allow(missing_docs)]
pub mod data {
    pub const LENGTH: u8 = 1;
    pub const DATA: u8 = 2;
}

/// Of a BLOB, and of an array.
#[allow(missing_docs)]
pub mod blob {
    pub const FIELD_NUMBER: u8 = 3;
    pub const TYPE: u8 = 4;
    pub const NUMBER_SEGMENTS: u8 = 5;
    pub const MAX_SEGMENT: u8 = 6;
    pub const DATA: u8 = 7;
}

/// Of a trigger.
#[allow(missing_docs)]
pub mod trigger {
    pub const TYPE: u8 = 1;
    pub const SOURCE: u8 = 3;
    pub const NAME: u8 = 4;
    pub const RELATION_NAME: u8 = 5;
    pub const SEQUENCE: u8 = 6;
    pub const DESCRIPTION: u8 = 7;
    pub const SYSTEM_FLAG: u8 = 8;
    pub const INACTIVE: u8 = 9;
    pub const SOURCE2: u8 = 10;
    pub const DESCRIPTION2: u8 = 11;
    pub const FLAGS: u8 = 12;
    pub const ENGINE_NAME: u8 = 15;
    pub const ENTRYPOINT: u8 = 16;
    pub const TYPE2: u8 = 17;
    pub const SQL_SECURITY_DEPRECATED: u8 = 18;
    pub const SQL_SECURITY: u8 = 19;
    pub const BLR: u8 = 2;
}

/// Of a function.
#[allow(missing_docs)]
pub mod function {
    pub const NAME: u8 = 1;
    pub const DESCRIPTION: u8 = 2;
    pub const MODULE_NAME: u8 = 4;
    pub const ENTRYPOINT: u8 = 5;
    pub const RETURN_ARG: u8 = 6;
    pub const DESCRIPTION2: u8 = 9;
    pub const ENGINE_NAME: u8 = 10;
    pub const PACKAGE_NAME: u8 = 11;
    pub const SOURCE: u8 = 14;
    pub const OWNER_NAME: u8 = 18;
    pub const DETERMINISTIC_FLAG: u8 = 20;
    pub const SQL_SECURITY_DEPRECATED: u8 = 21;
    pub const SQL_SECURITY: u8 = 22;
    pub const BLR: u8 = 13;
    pub const SECURITY_CLASS: u8 = 17;
}

/// Of a parameter of a function, or its result.
#[allow(missing_docs)]
pub mod function_argument {
    pub const NAME: u8 = 1;
    pub const POSITION: u8 = 2;
    pub const MECHANISM: u8 = 3;
    pub const FIELD_TYPE: u8 = 4;
    pub const FIELD_SCALE: u8 = 5;
    pub const FIELD_LENGTH: u8 = 6;
    pub const FIELD_SUB_TYPE: u8 = 7;
    pub const CHARACTER_SET: u8 = 8;
    pub const FIELD_PRECISION: u8 = 9;
    pub const PACKAGE_NAME: u8 = 10;
    pub const ARG_NAME: u8 = 11;
    pub const FIELD_SOURCE: u8 = 12;
    pub const DEFAULT_SOURCE: u8 = 14;
    pub const COLLATION_ID: u8 = 15;
    pub const NULL_FLAG: u8 = 16;
    pub const TYPE_MECHANISM: u8 = 17;
    pub const FIELD_NAME: u8 = 18;
    pub const RELATION_NAME: u8 = 19;
    pub const DESCRIPTION: u8 = 20;
}

/// Of a sequence.
#[allow(missing_docs)]
pub mod generator {
    pub const GENERATOR: u8 = 1;
    pub const VALUE: u8 = 2;
    pub const VALUE_INT64: u8 = 3;
    pub const DESCRIPTION: u8 = 4;
    pub const OWNER_NAME: u8 = 6;
    pub const SYSFLAG: u8 = 7;
    pub const INIT_VAL: u8 = 8;
    pub const ID_INCREMENT: u8 = 9;
    pub const SECURITY_CLASS: u8 = 5;
}

/// Of a procedure.
#[allow(missing_docs)]
pub mod procedure {
    pub const NAME: u8 = 1;
    pub const DESCRIPTION: u8 = 4;
    pub const DESCRIPTION2: u8 = 5;
    pub const SOURCE: u8 = 6;
    pub const SOURCE2: u8 = 7;
    pub const OWNER_NAME: u8 = 10;
    pub const ENGINE_NAME: u8 = 14;
    pub const ENTRYPOINT: u8 = 15;
    pub const PACKAGE_NAME: u8 = 16;
    pub const SQL_SECURITY_DEPRECATED: u8 = 18;
    pub const SQL_SECURITY: u8 = 19;
    pub const BLR: u8 = 8;
}

/// Of a parameter of a procedure.
#[allow(missing_docs)]
pub mod procedure_parameter {
    pub const NAME: u8 = 1;
    pub const NUMBER: u8 = 2;
    pub const TYPE: u8 = 3;
    pub const FIELD_SOURCE: u8 = 4;
    pub const DESCRIPTION: u8 = 5;
    pub const DESCRIPTION2: u8 = 6;
    pub const DEFAULT_SOURCE: u8 = 8;
    pub const COLLATION_ID: u8 = 9;
    pub const NULL_FLAG: u8 = 10;
    pub const MECHANISM: u8 = 11;
    pub const FIELD_NAME: u8 = 12;
    pub const RELATION_NAME: u8 = 13;
}

/// Of an exception.
#[allow(missing_docs)]
pub mod exception {
    pub const NAME: u8 = 1;
    pub const MSG: u8 = 2;
    pub const DESCRIPTION: u8 = 3;
    pub const DESCRIPTION2: u8 = 4;
    pub const MSG2: u8 = 5;
    pub const OWNER_NAME: u8 = 7;
    pub const SECURITY_CLASS: u8 = 6;
}

/// Of a constraint.
#[allow(missing_docs)]
pub mod constraint {
    pub const NAME: u8 = 1;
    pub const TYPE: u8 = 2;
    pub const REL_NAME: u8 = 3;
    pub const INDEX: u8 = 6;
}

/// Of what a foreign key refers to.
#[allow(missing_docs)]
pub mod reference {
    pub const CONSTRAINT_NAME: u8 = 1;
    pub const UNIQUE_CONST_NAME: u8 = 2;
    pub const UPDATE_RULE: u8 = 4;
    pub const DELETE_RULE: u8 = 5;
}

/// Of the trigger behind a CHECK, or the column of a NOT NULL.
#[allow(missing_docs)]
pub mod check {
    pub const CONSTRAINT_NAME: u8 = 1;
    pub const TRIGGER_NAME: u8 = 2;
}

/// Of a character set.
#[allow(missing_docs)]
pub mod charset {
    pub const NAME: u8 = 1;
    pub const COLL: u8 = 4;
    pub const ID: u8 = 5;
}

/// Of a collation.
#[allow(missing_docs)]
pub mod collation {
    pub const NAME: u8 = 1;
    pub const CS_ID: u8 = 3;
    pub const ID: u8 = 2;
    pub const ATTR: u8 = 4;
    pub const SYSFLAG: u8 = 6;
    pub const DESCRIPTION: u8 = 7;
    pub const BASE_COLLATION_NAME: u8 = 9;
    pub const SPECIFIC_ATTR: u8 = 10;
    pub const OWNER_NAME: u8 = 12;
    pub const FUNCT: u8 = 8;
    pub const SECURITY_CLASS: u8 = 11;
}

/// Of a role.
#[allow(missing_docs)]
pub mod role {
    pub const NAME: u8 = 1;
    pub const OWNER_NAME: u8 = 2;
    pub const DESCRIPTION: u8 = 3;
    pub const SYS_PRIVILEGES: u8 = 4;
}

/// Of a privilege.
#[allow(missing_docs)]
pub mod privilege {
    pub const USER: u8 = 1;
    pub const GRANTOR: u8 = 2;
    pub const PRIVILEGE: u8 = 3;
    pub const GRANT_OPTION: u8 = 4;
    pub const OBJECT_NAME: u8 = 5;
    pub const FIELD_NAME: u8 = 6;
    pub const USER_TYPE: u8 = 7;
    pub const OBJ_TYPE: u8 = 8;
}

/// Of a package.
#[allow(missing_docs)]
pub mod package {
    pub const NAME: u8 = 1;
    pub const HEADER_SOURCE: u8 = 2;
    pub const BODY_SOURCE: u8 = 3;
    pub const VALID_BODY_FLAG: u8 = 4;
    pub const OWNER_NAME: u8 = 6;
    pub const DESCRIPTION: u8 = 7;
    pub const SQL_SECURITY_DEPRECATED: u8 = 8;
    pub const SQL_SECURITY: u8 = 9;
}

/// Of a mapping of users.
#[allow(missing_docs)]
pub mod mapping {
    pub const NAME: u8 = 1;
    pub const USING: u8 = 2;
    pub const PLUGIN: u8 = 3;
    /// The role of Firebird 2.5 that administrators of Windows have by themselves.
    pub const AUTO_ROLE: u8 = 4;
    pub const DATABASE: u8 = 5;
    pub const FROM_TYPE: u8 = 6;
    pub const FROM: u8 = 7;
    pub const TO_TYPE: u8 = 8;
    pub const TO: u8 = 9;
    pub const DESCRIPTION: u8 = 10;
}

/// Of a BLOB filter.
#[allow(missing_docs)]
pub mod filter {
    pub const NAME: u8 = 6;
}

/// Of a publication.
#[allow(missing_docs)]
pub mod publication {
    pub const NAME: u8 = 1;
}

/// Of a row that is written transportably: its length, and that of an array.
pub(crate) mod xdr {
    pub(crate) const LENGTH: u8 = 17;
    pub(crate) const ARRAY: u8 = 18;
}

/// Of an array.
pub(crate) mod array {
    pub(crate) const DIMENSIONS: u8 = 14;
    pub(crate) const RANGE_LOW: u8 = 15;
    pub(crate) const RANGE_HIGH: u8 = 16;
}
