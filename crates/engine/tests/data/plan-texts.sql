create table t (id integer not null primary key, a integer, b varchar(20), c integer)

create table u (id integer not null primary key, t_id integer references t, n integer, m numeric(10,2))

create table w (k integer, v varchar(10))

create index t_a on t (a)

create descending index t_c on t (c)

create index t_ab on t (a, b)

create index u_n on u (n)

create index t_up on t computed by (upper(b))

create view v as select id, a, b from t

create view vj as select x.id, y.n from t x join u y on y.t_id = x.id

create view vv as select id, a from v

create view vu as select id from t union all select id from u

create procedure p (k integer) returns (r integer) as begin for select id from t where a = :k into r do suspend; end

create function f (k integer) returns integer as begin return (select max(id) from u where t_id = :k); end
