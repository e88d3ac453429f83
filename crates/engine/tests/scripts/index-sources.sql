-- What an index may be computed by, and how its text is shown. Firebird 5.0.4 takes all that is refused here as unsupported,
-- and lets such an index lie as soon as a function or another row changes; it shows the texts as they are shown here.

set term ^;
create function f(x int) returns int as begin return x*2; end^
create function fd(x int) returns int deterministic as begin return x*2; end^
set term ;^
create domain dom as int;
create sequence sq;
create table o(z int);
create table t(x int, y int, b blob sub_type text, v varchar(20), c computed by (f(x)), d computed by (x + 1));
insert into t values(1,1,'abc','a');
insert into t values(2,2,'def','b');
commit;
create unique index i1 on t computed by (f(x));
create unique index i2 on t computed by (fd(x));
create index i3 on t computed by ((select max(z) from o));
create index i4 on t computed by ((select max(z) from o where z=t.x));
create index i5 on t computed by (current_timestamp);
create index i6 on t computed by (current_user);
create index i7 on t computed by (rdb$get_context('SYSTEM','DB_NAME'));
create index i8 on t computed by (x + current_transaction);
create index i9 on t computed by (rand());
create index i11 on t computed by (next value for sq);
create index i12 on t computed by (b);
create index i13 on t computed by (substring(b from 1 for 3));
create index i14 on t computed by (cast(b as varchar(10)));
create index i15 on t computed by (char_length(b));
create index i16 on t (b);
create index i18 on t(x) where x > f(1);
create index i19 on t(x) where x in (select z from o);
create index i21 on t(x) where b like 'a%';
create index i23 on t computed by (gen_uuid());
create index i24 on t(x) where y > current_connection;
create index i26 on t computed by (c);
create index i27 on t(x) where c > 1;
create index i28 on t computed by (no_such(x));
-- These are kept.
create index j1 on t(x) where b is not null;
create unique index j2 on t computed by (d * 2);
create index j3 on t computed by ( upper( v)  ) WHERE  V <> 'z' AND  x>0;
create index j4 on t(x)
  wHeRe x   in (1, 2) -- why not
;
insert into t(x,y,b,v) values(1,1,'x','a');
insert into t(x,y,b,v) values(3,1,'x','A');
insert into t(x,y,b,v) values(4,1,null,'z');
commit;
select x from t where d * 2 = 8;
select x from t where upper(v) = 'A' and v <> 'z' and x > 0 order by x;
select x from t where b is not null and x > 2;
select x from t where f(x) = 6;
alter index j3 inactive;
insert into t(x,y,b,v) values(5,1,null,'a');
commit;
alter index j3 active;
select x from t where upper(v) = 'A' and v <> 'z' and x > 0 order by x;
alter table t alter d computed by (x + 100);
select x from t where d * 2 = 206;
alter table t alter d computed by (f(x));
alter table t alter x type bigint;
select x from t where d * 2 = 206;
insert into t(x,y,b,v) values(3,1,null,'a');
commit;
set term ^;
create or alter function f(x int) returns int as begin return x*3; end^
set term ;^
select x from t where f(x) = 9;
select rdb$index_name, rdb$expression_source, rdb$condition_source from rdb$indices where rdb$relation_name='T' order by rdb$index_name;
