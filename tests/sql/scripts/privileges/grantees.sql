-- Grantees that are not there: they are looked for before what is granted.
create table t (a integer);
create role r;
grant select on table secret to package pk_secret;
grant execute on package pk_secret to role role_secret;
grant select on table secret to role r;
grant select on table t to role nowhere, r;
grant select on table secret to r, procedure nowhere;
revoke select on table secret from package pk_secret;
revoke execute on package pk_secret from role role_secret;
revoke select on table t from role nowhere;
revoke select on table secret from r;
grant select, update (b) on table t to procedure nowhere;
grant usage on sequence s to function f;
