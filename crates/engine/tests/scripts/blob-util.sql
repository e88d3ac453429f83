set term !;
execute block returns (b blob sub_type text) as
begin
  b = rdb$blob_util.new_blob(false, true);
  b = blob_append(b, '12345');
  b = blob_append(b, '67');
  suspend;
end!
execute block returns (s varchar(10)) as
  declare b blob = '1234567';
  declare h integer;
begin
  h = rdb$blob_util.open_blob(b);
  s = rdb$blob_util.read_data(h, 3);
  suspend;
  s = rdb$blob_util.read_data(h, 3);
  suspend;
  s = rdb$blob_util.read_data(h, 3);
  suspend;
  s = rdb$blob_util.read_data(h, 3);
  suspend;
  execute procedure rdb$blob_util.close_handle(h);
end!
execute block returns (s varchar(10), p integer) as
  declare b blob;
  declare h integer;
begin
  b = rdb$blob_util.new_blob(false, true);
  b = blob_append(b, '0123456789');
  h = rdb$blob_util.open_blob(b);
  p = rdb$blob_util.seek(h, 0, 5);
  s = rdb$blob_util.read_data(h, 3);
  suspend;
  p = rdb$blob_util.seek(h, 0, 2);
  s = rdb$blob_util.read_data(h, 3);
  suspend;
  p = rdb$blob_util.seek(h, 1, 2);
  s = rdb$blob_util.read_data(h, 3);
  suspend;
  p = rdb$blob_util.seek(h, 2, -1);
  s = rdb$blob_util.read_data(h, 3);
  suspend;
end!
execute block returns (a boolean, c boolean) as
  declare b blob;
  declare h integer;
begin
  b = rdb$blob_util.new_blob(true, true);
  a = rdb$blob_util.is_writable(b);
  h = rdb$blob_util.open_blob(b);
  c = rdb$blob_util.is_writable(b);
  suspend;
end!
execute block returns (s varchar(10)) as
  declare b blob;
begin
  b = blob_append(null, 'abc');
  execute procedure rdb$blob_util.cancel_blob(b);
  s = b;
  suspend;
end!
execute block as begin execute procedure rdb$blob_util.close_handle(99); end!
execute block as declare h integer; begin h = rdb$blob_util.open_blob('abc'); h = rdb$blob_util.seek(h, 3, 0); end!
execute block returns (s varchar(10)) as declare h integer; begin h = rdb$blob_util.open_blob('abc'); s = rdb$blob_util.read_data(h, 0); end!
execute block returns (s varchar(10)) as declare h integer; begin h = rdb$blob_util.open_blob(cast('abc' as blob)); s = rdb$blob_util.read_data(h, null); suspend; end!
select rdb$blob_util.nosuch(1) from rdb$database!
select rdb$blob_util.read_data(1) from rdb$database!
execute procedure rdb$blob_util.close_handle(77)!
execute procedure rdb$blob_util.close_handle!
execute procedure rdb$blob_util.close_handle(1, 2)!
execute procedure rdb$blob_util.is_writable(1)!
execute procedure rdb$blob_util.nope(1)!
execute block returns (h integer) as begin h = rdb$blob_util.open_blob('abc'); suspend; end!
execute procedure rdb$blob_util.close_handle(1)!
