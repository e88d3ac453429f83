create table region (r_regionkey integer not null constraint region_key primary key, r_name char(25));
create table nation (n_nationkey integer not null constraint nation_key primary key, n_name char(25), n_regionkey integer);
create table supplier (s_suppkey integer not null constraint supplier_key primary key, s_name char(25), s_nationkey integer);
create table customer (c_custkey integer not null constraint customer_key primary key, c_name varchar(25), c_nationkey integer, c_mktsegment char(10));
create table part (p_partkey integer not null constraint part_key primary key, p_brand char(10), p_container char(10), p_size integer, p_type varchar(25));
create table orders (o_orderkey bigint not null constraint orders_key primary key, o_custkey integer, o_orderdate date, o_totalprice numeric(15,2));
create table lineitem (l_orderkey bigint not null, l_linenumber integer not null, l_partkey integer, l_suppkey integer, l_quantity numeric(15,2), l_shipdate date, l_shipmode char(10), constraint lineitem_key primary key (l_orderkey, l_linenumber));
create index o_customer on orders (o_custkey);
create index o_date on orders (o_orderdate);
create index l_part on lineitem (l_partkey, l_suppkey);
create index l_supplier on lineitem (l_suppkey);
create index l_ship on lineitem (l_shipdate);

-- An index range that keeps nearly all rows, and one that keeps few.
select sum(l_quantity) from lineitem where l_shipdate <= date '1998-09-02';
select sum(l_quantity) from lineitem where l_shipdate between date '1995-03-01' and date '1995-03-02';
select sum(l_quantity) from lineitem where l_orderkey > 0;
select * from orders where o_orderkey = 7;

-- The smaller side is built, whichever is written first.
select count(*) from orders join customer on o_custkey = c_custkey;
select count(*) from customer join orders on o_custkey = c_custkey;

-- Few rows look others up.
select count(*) from customer join orders on o_custkey = c_custkey where c_custkey < 20;
select o_orderdate from customer, orders, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15';

-- What each alternative says of one table is asked of that table.
select count(*) from supplier, lineitem, orders, customer, nation n1, nation n2 where s_suppkey = l_suppkey and o_orderkey = l_orderkey and c_custkey = o_custkey and s_nationkey = n1.n_nationkey and c_nationkey = n2.n_nationkey and ((n1.n_name = 'FRANCE' and n2.n_name = 'GERMANY') or (n1.n_name = 'GERMANY' and n2.n_name = 'FRANCE')) and l_shipdate between date '1995-01-01' and date '1996-12-31';
select sum(l_quantity) from lineitem, part where (p_partkey = l_partkey and p_brand = 'Brand#12' and l_quantity between 1 and 11) or (p_partkey = l_partkey and p_brand = 'Brand#23' and l_quantity between 10 and 20);

-- EXISTS, NOT EXISTS and IN are joins.
select count(*) from orders where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01' and exists (select * from lineitem where l_orderkey = o_orderkey and l_quantity > 5);
select count(*) from customer where not exists (select * from orders where o_custkey = c_custkey);
select count(*) from part a where exists (select * from part b where b.p_size = a.p_size and b.p_partkey <> a.p_partkey);
select count(*) from orders where o_orderkey in (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > 300);
select count(*) from orders where o_orderkey not in (select l_orderkey from lineitem);

-- Where the conditions leave few rows as partners, looking for the first one reads most of what an index finds.
select count(*) from part where p_size = 5 and not exists (select * from lineitem where l_partkey = p_partkey and l_quantity = 49);
select count(*) from part where p_size = 5 and not exists (select * from lineitem where l_partkey = p_partkey);

-- One that stays a value is asked for its first row only: one index leads to that sooner than the rows of two put together.
select count(*) from lineitem where l_shipdate between date '1995-03-01' and date '1995-03-31' and l_suppkey between 100 and 115;
select case when exists (select * from lineitem where l_shipdate between date '1995-03-01' and date '1995-03-31' and l_suppkey between 100 and 115) then 1 end from region;
select case when singular (select * from lineitem where l_shipdate between date '1995-03-01' and date '1995-03-31' and l_suppkey between 100 and 115) then 1 end from region;

-- A query for each row runs where there are the fewest rows.
select sum(l_quantity) from lineitem, part where p_partkey = l_partkey and p_brand = 'Brand#23' and p_container = 'MED BOX' and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where l_partkey = p_partkey);

-- A LEFT JOIN builds the smaller side, and is an inner join where rows without a partner are refused.
select count(o_orderkey) from customer left join orders on o_custkey = c_custkey;
select count(*) from customer left join orders on o_custkey = c_custkey where o_totalprice > 100;

-- The first rows of an order come by its index, without the others.
select first 10 o_orderkey from orders join customer on c_custkey = o_custkey order by o_orderkey;
select o_orderkey from orders join customer on c_custkey = o_custkey order by o_orderkey;

-- NOT IN of what is never NULL, and rows without a partner, are anti-joins.
select count(*) from customer where c_custkey not in (select n_nationkey from nation);
select count(*) from customer left join orders on o_custkey = c_custkey where o_custkey is null;
select count(*) from customer left join orders on o_custkey = c_custkey where o_totalprice is null;

-- A LEFT JOIN that finds one row at most, of which nothing is used, is none.
select c_name from customer left join nation on n_nationkey = c_nationkey;
select c_name, n_name from customer left join nation on n_nationkey = c_nationkey;

-- EXISTS and IN that find one row may come first.
select count(*) from lineitem where exists (select * from part where p_partkey = l_partkey and p_brand = 'Brand#23' and p_size = 7);
select count(*) from lineitem where l_partkey in (select p_size from part where p_brand = 'Brand#23');

-- Queries for each row become groups, unless an index and few rows make them cheap.
select count(*) from part a where p_size > (select avg(b.p_size) from part b where b.p_brand = a.p_brand);
select p_partkey, (select count(*) from part b where b.p_type = a.p_type) from part a;
select count(*) from orders where o_totalprice > (select sum(l_quantity) from lineitem where l_orderkey = o_orderkey) and o_orderkey < 100;

-- What is asked of groups, unions and windows is asked of their rows.
select * from (select o_custkey, sum(o_totalprice) from orders group by o_custkey) t (k, s) where k = 5;
select * from (select o_custkey, o_totalprice from orders union all select c_custkey, c_nationkey from customer) t (k, s) where k = 5;
select * from (select l_orderkey, row_number() over (partition by l_orderkey order by l_shipdate) from lineitem) t (k, n) where k = 5 and n = 1;

-- What comes behind a key in ORDER BY decides nothing.
select first 5 o_orderkey, o_orderdate from orders order by o_orderkey, o_orderdate desc;

-- Inner joins that leave few rows come before LEFT JOINs, and LEFT JOINs behind what they look at.
select count(*), count(n_name) from customer left join nation on n_nationkey = c_nationkey join orders on o_custkey = c_custkey where o_orderkey = 7;
select count(*), count(n_name), count(r_name) from orders join customer on c_custkey = o_custkey left join nation on n_nationkey = c_nationkey left join region on r_regionkey = n_regionkey where o_orderkey < 20;
select first 10 o_orderkey, c_name from orders left join customer on c_custkey = o_custkey order by o_orderkey;

-- Columns that are given the same value leave no fewer rows by being equal to each other.
select count(*) from nation join supplier on s_nationkey = n_nationkey join lineitem on l_suppkey = s_suppkey where n_nationkey = 3;

-- The first rows of an order that no index has: they are put in order before others are joined to them.
select first 10 o_totalprice, c_name from orders join customer on c_custkey = o_custkey order by o_totalprice desc;
select first 10 o_totalprice, c_name, n_name from orders left join customer on c_custkey = o_custkey left join nation on n_nationkey = c_nationkey order by o_totalprice;
select o_totalprice, c_name from orders join customer on c_custkey = o_custkey order by o_totalprice desc;

-- Not where they are few that have partners, nor where others are ordered by too.
select first 10 o_totalprice, c_name from orders join customer on c_custkey = o_custkey where c_custkey = 5 order by o_totalprice;
select first 10 o_totalprice, c_name from orders join customer on c_custkey = o_custkey order by o_totalprice, c_name;

-- Each member of a union is asked for the first rows by its index.
select first 10 d, k from (select o_orderdate, o_orderkey from orders union all select l_shipdate, l_orderkey from lineitem) t (d, k) order by d;
select o_orderdate, o_orderkey from orders union all select l_shipdate, l_orderkey from lineitem order by 1 rows 21 to 30;

-- An index is not walked for few rows that are far from each other.
select first 10 o_orderkey from orders where o_totalprice < 810 order by o_orderdate;

-- What stands in two places is computed once, but alone where little of it is left.
with revenue (k, total) as (select l_suppkey, sum(l_quantity) from lineitem where l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-04-01' group by l_suppkey) select s_suppkey, total from supplier, revenue where s_suppkey = k and total = (select max(total) from revenue);
with counts (k, n) as (select o_custkey, count(*) from orders group by o_custkey) select a.n, b.n from counts a, counts b where a.k = 5 and b.n = a.n;
with counts (k, n) as (select o_custkey, count(*) from orders group by o_custkey) select n from counts where n > 40;

-- A scan passes over blocks in which no row is from a range in whose order the rows lie.
select count(*) from lineitem, part where l_partkey = p_partkey and p_size = 7 and l_orderkey between 100000 and 140000;
select count(*) from lineitem where l_orderkey between 100000 and 100100;
