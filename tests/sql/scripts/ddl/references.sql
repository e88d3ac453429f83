-- What is looked at first of a foreign key: the key, then how long rows last.
create table t1 (a integer);
create table t2 (a integer not null primary key);
create global temporary table g1 (a integer);
create global temporary table g2 (a integer not null primary key);
create table p1 (a integer references t1);
create table p1 (a integer references g1);
create table p1 (a integer references g2);
create table p1 (a integer references nowhere);
create global temporary table p2 (a integer references t2);
create global temporary table p2 (a integer references t1);
create global temporary table p2 (a integer references g2) on commit preserve rows;
create table p1 (a integer, foreign key (a) references t2 (b));
create table p1 (a integer, foreign key (a) references g1 (a));
create table p1 (a integer, foreign key (a) references t1 (a));
