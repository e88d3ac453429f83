// A working day over node-firebird-driver-native, which brings Firebird's own client library into Node.

'use strict';

const native = require('node-firebird-driver-native');
const { where, same, fails, check, run } = require('../node/checks');

async function day() {
  const client = native.createNativeClient(process.env.FIREBIRD_CLIENT_LIBRARY || native.getDefaultLibraryFilename());
  const uri = `${where.host}/${where.port}:${where.database}`;
  let attachment;
  await check('native attach', async () => {
    attachment = await client.connect(uri, { username: where.user, password: where.password });
  });
  if (!attachment) return;
  const inside = async (work) => {
    const transaction = await attachment.startTransaction();
    try {
      const result = await work(transaction);
      await transaction.commit();
      return result;
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
  };
  const rows = (sql, parameters) => inside(async (transaction) => {
    const set = await attachment.executeQuery(transaction, sql, parameters);
    const found = await set.fetch();
    await set.close();
    return found;
  });
  await check('native DDL', () => inside((transaction) => attachment.execute(transaction,
    'create table types (id integer not null primary key, b boolean, n numeric(18, 4), d double precision, t varchar(40), c char(5), on_day date, tm time, ts timestamp, tz timestamp with time zone, bl blob, big int128, df decfloat(34))')));
  await check('native every type there and back', async () => {
    const moment = new Date(2024, 1, 29, 13, 14, 15, 123);
    await inside((transaction) => attachment.execute(transaction, 'insert into types (id, b, n, d, t, c, ts, bl) values (?, ?, ?, ?, ?, ?, ?, ?)',
      [1, true, 1234.5678, 2.5e10, 'grüße', 'abc', moment, Buffer.from([0, 1, 255])]));
    const [row] = await rows('select id, b, n, d, t, c, ts from types where id = 1');
    same(row, [1, true, 1234.5678, 2.5e10, 'grüße', 'abc  ', moment]);
  });
  await check('native a BLOB is read', () => inside(async (transaction) => {
    const set = await attachment.executeQuery(transaction, 'select bl from types where id = 1');
    const [[blob]] = await set.fetch();
    const stream = await attachment.openBlob(transaction, blob);
    const buffer = Buffer.alloc(await stream.length);
    await stream.read(buffer);
    await stream.close();
    await set.close();
    same([...buffer], [0, 1, 255]);
  }));
  await check('native RETURNING', async () => same(await inside((transaction) => attachment.executeSingleton(transaction,
    'insert into types (id, t) values (2, ?) returning id, t', ['two'])), [2, 'two']));
  await check('native wide numbers as texts', async () => same(await rows("select cast(big as varchar(50)), cast(df as varchar(50)) from types where id = 2 union all select cast(cast('170141183460469231731687303715884105727' as int128) as varchar(50)), '1' from rdb$database"),
    [[null, null], ['170141183460469231731687303715884105727', '1']]));
  await check('native named columns', () => inside(async (transaction) => {
    const statement = await attachment.prepare(transaction, 'select id as number, t as "Text" from types where id = 2');
    const set = await statement.executeQuery(transaction);
    same(await set.fetchAsObject(), [{ NUMBER: 2, Text: 'two' }]);
    await set.close();
    await statement.dispose();
  }));
  await check('native 3000 rows by one statement', async () => {
    await inside(async (transaction) => {
      const statement = await attachment.prepare(transaction, 'insert into types (id, t) values (?, ?)');
      for (let at = 10; at < 3010; at++) await statement.execute(transaction, [at, `row ${at}`]);
      await statement.dispose();
    });
    same((await rows('select count(*), max(t) from types where id >= 10'))[0].map(String), ['3000', 'row 999']);
    same((await rows('select id from types')).length, 3002);
  });
  await check('native an error has its text', () => fails('PRIMARY or UNIQUE KEY', () => inside((transaction) => attachment.execute(transaction, 'insert into types (id) values (2)'))));
  await check('native events', async () => {
    let resolve;
    const heard = new Promise((done) => { resolve = done; });
    const events = await attachment.queueEvents(['shop'], async (counters) => resolve(counters));
    await inside((transaction) => attachment.execute(transaction, "execute block as begin post_event 'shop'; end"));
    const counters = await Promise.race([heard, new Promise((_, stop) => setTimeout(() => stop(new Error('not heard')), 5000).unref())]);
    same(counters, [['shop', 1]]);
    await events.cancel();
  });
  await check('native detach', () => attachment.disconnect());
  await client.dispose();
}

run(day);
