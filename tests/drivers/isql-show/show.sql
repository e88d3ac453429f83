-- What isql-fb reads from the system tables by BLR requests. show.py runs it and compares what comes behind each "-- check:" with
-- show.expected.

-- check: show tables
SHOW TABLES;

-- check: show views
SHOW VIEWS;

-- check: show table customer
SHOW TABLE CUSTOMER;

-- check: show table orders
SHOW TABLE ORDERS;

-- check: show view v_customer
SHOW VIEW V_CUSTOMER;

-- check: show domains
SHOW DOMAINS;

-- check: show domain d_money
SHOW DOMAIN D_MONEY;

-- check: show domain d_name
SHOW DOMAIN D_NAME;

-- check: show generators
SHOW GENERATORS;

-- check: show sequence seq_b
SHOW SEQUENCE SEQ_B;

-- check: show exceptions
SHOW EXCEPTIONS;

-- check: show exception e_bad
SHOW EXCEPTION E_BAD;

-- check: show roles
SHOW ROLES;

-- check: show role r_reader
SHOW ROLE R_READER;

-- check: show procedure p_add
SHOW PROCEDURE P_ADD;

-- check: show function f_twice
SHOW FUNCTION F_TWICE;

-- check: show triggers
SHOW TRIGGERS;

-- check: show trigger t_customer
SHOW TRIGGER T_CUSTOMER;

-- check: show trigger t_connect
SHOW TRIGGER T_CONNECT;

-- check: show indexes
SHOW INDEXES;

-- check: show index customer
SHOW INDEX CUSTOMER;

-- check: show index i_city
SHOW INDEX I_CITY;

-- check: show check orders
SHOW CHECK ORDERS;

-- check: show check customer
SHOW CHECK CUSTOMER;

-- check: show grant customer
SHOW GRANT CUSTOMER;

-- check: show grant orders
SHOW GRANT ORDERS;

-- check: show grant p_add
SHOW GRANT P_ADD;

-- check: show grant r_reader
SHOW GRANT R_READER;

-- check: show comments
SHOW COMMENTS;

-- check: show collations
SHOW COLLATIONS;

-- check: show filters
SHOW FILTERS;

-- check: show mapping
SHOW MAPPING;

-- check: show sql dialect
SHOW SQL DIALECT;

-- check: show table nothing
SHOW TABLE NOTHING;

-- check: show view nothing
SHOW VIEW NOTHING;

-- check: show domain nothing
SHOW DOMAIN NOTHING;

-- check: show procedure nothing
SHOW PROCEDURE NOTHING;

-- check: show index nothing
SHOW INDEX NOTHING;

-- check: show trigger nothing
SHOW TRIGGER NOTHING;

-- check: show generator nothing
SHOW GENERATOR NOTHING;

-- check: show exception nothing
SHOW EXCEPTION NOTHING;

-- check: show role nothing
SHOW ROLE NOTHING;
