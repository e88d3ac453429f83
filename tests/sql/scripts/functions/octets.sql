-- Texts of bytes: no case, no wildcards.
create table t (id integer, o char(5) character set octets, v varchar(10) character set octets, b blob sub_type binary);
insert into t values (1, 'abC', 'xyZ', 'bytes');
select upper(o), lower(o), upper(v), lower(v) from t;
select o like '%C%', o like 'ab%', o like 'abC', v like '%Z', v like 'xy_', v like 'xyZ', v not like 'xyZ' from t;
select o similar to '%C%', o containing 'c', o containing 'C', o starting with 'ab', v containing 'z', v containing 'Z' from t;
select upper(x'616263'), lower(x'414243') from rdb$database;
select x'3132' like '%2%', x'3132' like x'253225', x'3132' like '12', x'3132' like '_2' from rdb$database;
select '12' like x'3125', b like '%te%', b like 'bytes', b containing 'TE', b starting with 'by' from t;
select id from t where v like 'xy%';
select id from t where v like 'xyZ';
create index i on t (v);
select id from t where v like 'xy%';
select id from t where v like 'xyZ' and v starting with 'x';
