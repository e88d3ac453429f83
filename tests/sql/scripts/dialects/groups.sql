--@ dialect 1
create table t (s smallint, i integer, m numeric(4,1));
insert into t values (3, 7, 1.5);
insert into t values (3, 8, 1.5);
insert into t values (5, 9, 2.5);
-- A product that is a key, and what goes on computing with it.
select (s*2)/4, count(*) from t group by s*2;
select s*2, s*2+0.5e0 from t group by 1;
select s*2, sum(i/2) from t where i < 100 group by s*2 having s*2/4 > 1;
select s*2 x from t group by s*2 order by s*2/4 desc;
select -(s*2)*1.5e0 from t group by s*2;
select cast(s*2 as double precision) from t group by s*2;
select s*m, s*m/3, s*m*2 from t group by s*m;
select (s*i)/2 from t group by s*2;
select i/2, i/2*3 from t group by i/2;
