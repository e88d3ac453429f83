-- How rows are packed: Farbird's own.
create table t (a integer) storage codec 'elekt';
create table t (a integer) sql security definer storage codec 'column+zstd' enable publication;
recreate table t (a integer) storage default;
alter table t set storage codec 'long-run+lz4';
alter table t add b integer, set storage default;
alter database set storage codec 'value';
alter database set storage default;
-- The words are names elsewhere.
create table storage (codec integer, storage integer);
select storage, codec from storage;
alter table storage drop storage;
