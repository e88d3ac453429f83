-- Columns of keys keep their names and types, and that is what is said first.
create table t (a integer not null primary key, e smallint unique, f integer, n integer not null, k integer check (k > 0));
create table t2 (a integer not null primary key);
create table u (a integer references t, g integer);
create index i on t (f);
alter table t alter a to aa;
alter table t2 alter a to aa;
alter table t alter e to ee;
alter table t alter f to ff;
alter table t alter n to nn;
alter table t alter k to kk;
alter table u alter a to aa;
alter table t alter a type varchar(3);
alter table t alter e type varchar(3);
alter table u alter a type varchar(3);
alter table t alter a type integer;
