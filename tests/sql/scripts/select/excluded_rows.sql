-- Keys of joins that would fail for rows which the join's other conditions exclude.
recreate table session$test (sess_user char(63));
recreate table staff$test (staffid smallint, primary key (staffid) using index staff$test_staffid);
create table big (staffid smallint, x integer);
commit;
insert into session$test values ('TEST');
insert into session$test values ('1');
insert into staff$test values (1);
insert into big values (1, 1);
commit;
select sess.sess_user, stf.staffid from session$test sess left join staff$test stf on trim(sess.sess_user) similar to '[0-9]+' and stf.staffid = cast(trim(sess.sess_user) as smallint);
select sess.sess_user, stf.staffid from session$test sess left join big stf on trim(sess.sess_user) similar to '[0-9]+' and stf.staffid = cast(trim(sess.sess_user) as smallint);
select sess.sess_user, stf.staffid from session$test sess join big stf on trim(sess.sess_user) similar to '[0-9]+' and stf.staffid = cast(trim(sess.sess_user) as smallint);
select sess.sess_user, stf.staffid from session$test sess full join big stf on trim(sess.sess_user) similar to '[0-9]+' and stf.staffid = cast(trim(sess.sess_user) as smallint) order by 1;
select sess.sess_user, stf.staffid from session$test sess left join big stf on stf.staffid = cast(trim(sess.sess_user) as smallint) and trim(sess.sess_user) similar to '[0-9]+';
select sess.sess_user from session$test sess where exists (select 1 from big stf where trim(sess.sess_user) similar to '[0-9]+' and stf.staffid = cast(trim(sess.sess_user) as smallint));
