-- RETURNING: which statements have OLD and NEW.
create table t (id integer, v integer);
insert into t (id, v) values (1, 2) returning new.id;
insert into t (id, v) values (1, 2) returning old.id;
insert into t (id, v) values (1, 2) returning t.id;
insert into t (id, v) select 2, 3 from rdb$database returning new.id;
insert into t (id, v) values (1, 2) returning id into :x;
insert into t (id, v) values (1, 2) returning id into x;
insert into t (id) select 3 from rdb$database returning id into :x;
update t set v = 1 returning id into :x, :y;
delete from t returning id into x;
merge into t using t s on t.id = s.id when matched then delete returning t.id into :x;
update or insert into t (id) values (1) matching (id) returning id into :x;
insert into t (id, v) values (1, 2);
update t set v = 3 where id = 1 returning new.v, old.v, t.v, v;
delete from t where id = 1 returning new.v;
delete from t where id = 1 returning old.v;
delete from t where id = 1 returning v, t.id;
update or insert into t (id, v) values (1, 2) matching (id) returning new.v, old.v;
update or insert into t (id, v) values (1, 4) matching (id) returning new.v, old.v;
merge into t using (select 1 i from rdb$database) s on t.id = s.i when matched then update set v = 5 returning new.v, old.v;
merge into t using (select 7 i from rdb$database) s on t.id = s.i when not matched then insert (id, v) values (1, 1) returning new.v, old.v;
set term ^;
execute block returns (x integer) as begin insert into t (id, v) values (1, 2) returning new.id into x; end^
execute block returns (x integer) as begin delete from t where id = 1 returning old.id into x; end^
execute block returns (x integer) as begin delete from t where id = 7 returning id into x; suspend; end^
set term ;^
