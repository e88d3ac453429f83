-- NOT MATCHED BY SOURCE with every kind of USING: the row that is missing is told from one of NULLs. As Firebird 5.0.4.

create table t(id int, v int);
create table a(id int, w int);
create table b(id int, w int);
insert into t values(1, 10);
insert into t values(2, 20);
insert into t values(3, 30);
insert into a values(1, null);
insert into a values(null, null);
insert into b values(2, 7);
commit;
set term ^;
create procedure p returns (id int, w int) as begin id = 2; w = null; suspend; id = null; suspend; end^
set term ;^
merge into t using (select id, w from a union all select id, w from b) s on t.id = s.id when matched then update set v = 0 when not matched by source then delete;
select * from t;
rollback;
merge into t using (select id, null as w from a) s on t.id = s.id when matched then update set v = 0 when not matched by source then delete;
select * from t;
rollback;
merge into t using (select a.id, b.w from a left join b on a.id = b.id) s on t.id = s.id when matched then update set v = 0 when not matched by source then update set v = -1;
select * from t;
rollback;
merge into t using (select b.id, a.w from a right join b on a.id = b.id) s on t.id = s.id when matched then update set v = 0 when not matched by source then update set v = -1;
select * from t;
rollback;
merge into t using (select coalesce(a.id, b.id) id, a.w from a full join b on a.id = b.id) s on t.id = s.id when matched then update set v = 0 when not matched by source then update set v = -1;
select * from t;
rollback;
merge into t using p s on t.id = s.id when matched then update set v = 0 when not matched by source then update set v = -1;
select * from t;
rollback;
merge into t using (select first 1 id from b order by id) s on t.id = s.id when matched then update set v = 0 when not matched then insert values(s.id, 5) when not matched by source and t.v > 20 then delete;
select * from t;
rollback;
merge into t using (select 9 as id from rdb$database) s on t.id = s.id when matched then update set v = 0 when not matched then insert values(s.id, 5) when not matched by source and t.v > 20 then delete;
select * from t;
rollback;
